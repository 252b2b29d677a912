"""What became of the lines that sessions wrote.

- `survival`: follows lines through the changes of a repository, and judges what became of them;
- `landing`: whose a commit is, and which lines it brings;
- `tracking`: who owns which line now;
- `removals`: what a commit does to lines that are tracked;
- `similarity`: lines that live on in others like them;
- `history`: what all of these speak in: changes, sessions, results;
- `transcripts`: asks later transcripts, where there is no repository.

Takes written lines, and changes and trees that whoever calls hands in; gives `Reworked`. Imports types, config and the
rest of sessions.
"""
