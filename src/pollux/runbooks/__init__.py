"""Runbooks: documents of steps that run one after another, each under the same gate as everything else."""
