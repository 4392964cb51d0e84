"""Files beneath one folder: `Root` holds it, `AgentFs` is what tools' authors get, `file_tools` what the model gets."""
