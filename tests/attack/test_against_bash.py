"""Random lines, run by a real bash: wherever it ran `rm`, the rule that denies rm had found it."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.attack.test_command_lines import ANYTHING, mode_of, rule

pytestmark = pytest.mark.soak

# Pieces of shell, most of them useless alone. `␤` is a line break, `·` a blank.
PIECES = r"""
rm rm rm·x \rm 'rm' "rm" r''m r\m $'\x72m' ␤ ␤ ␤ · · · ; ·;· && || | |& & \␤ # ·#· $x x=1· x=rm· {· } ;·} ( )
if· ;·then· ;·fi then· fi elif· else· for·i·in·a;·do· ;·done while·rm;·do·break done do· until· select· case·a·in·a)·
;;·esac ·;&· esac in· true true· cat·<<E␤ ␤E␤ <<<·a ' " ` $( ${x:- $(( )) <( (( 1)) [[·a·]]· [·a·]· ]] !· <·/dev/null·
·>·y 2>&1· &>·z· coproc· time· eval· function·f·{· f()· f env· command· exec· builtin· let· declare· export· trap·'
·EXIT alias· sh·-c· bash·-c·" xargs· find·.·-exec· ·{}·; , {, {a, * ? ~ ! = + - -- % ^ @ a b é \ \n \' \" $' 	 1
""".replace("\n", " ").split(" ")
LINES = 10_000
DENIED = (ANYTHING, rule("deny", "rm"))
ALLOWED = [rule("allow", name) for name in ("true", "cat", "env", "echo", "find", "test", "a", "b")]


def test_whatever_bash_makes_of_a_line_a_denied_program_is_found(tmp_path: Path):
    programs, work, ran = tmp_path / "programs", tmp_path / "work", tmp_path / "ran"
    programs.mkdir()
    work.mkdir()
    ran.mkdir()
    (programs / "rm").write_text('#!/bin/bash\n: > "$RAN"\n')
    (programs / "rm").chmod(0o755)
    for name in ("cat", "env", "find", "sh", "bash", "true", "xargs"):
        (programs / name).symlink_to(str(shutil.which(name)))
    chosen, lines = random.Random(os.environ.get("SEED", "1")), list[str]()
    for number in range(LINES):
        line = "".join(chosen.choices(PIECES, k=chosen.randint(2, 10))).replace("␤", "\n").replace("·", " ")
        lines.append(line)
        # Each has a file of its own: what runs in the background may come late.
        env = {"PATH": str(programs), "RAN": str(ran / str(number))}
        try:
            subprocess.run(
                ["/bin/bash", "-c", line], cwd=work, env=env, timeout=2,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
    found = [lines[int(each.name)] for each in ran.iterdir()]
    through = [line for line in found if mode_of(line, *DENIED) != "deny" or mode_of(line, *ALLOWED) == "allow"]
    print(f"bash ran rm in {len(found)} of {LINES} lines; {len(through)} got through")
    assert through == []
    assert len(found) > LINES / 100
