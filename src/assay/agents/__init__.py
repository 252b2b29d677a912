"""What is put into an agent's own settings, and taken out again so that every byte is as before.

- `json_text`, `toml_text`: a key set in or taken out of a text, everything else left as it stands
- `edits`: what is to be done to a settings file, and what remains when it is undone
- `installation`: files changed with a backup, a record of every change, and the way back
- `claude_code`, `codex`: what each agent is told
- `delivery`: events that hooks kept, sent to a server
- `desk`: what an agent may ask of sessions
- `checkup`: whether what was installed works

Takes settings as they are; gives them as they shall be. Nothing is written before the person has seen it.
"""
