"""One command, run where it can do no harm: in bubblewrap where that works, else in a plain directory.

- `bubblewrap` picks the sandbox of this machine and wraps a command in it;
- `workspace` fills, copies and compares workspaces, and reads what an agent left in one;
- `launch` starts commands under a supervisor and says how they ended;
- `supervisor` keeps one command within its limits and leaves nothing of it running;
- `airlock` starts a command with fewer rights than whoever starts it has;
- `proxy` lets a command without a network reach the services it may reach;
- `proxy_inside` hands a command's connections to that proxy;
- `pytest_inside` runs pytest for a check and proves that it came to its end.

`supervisor`, `airlock`, `proxy_inside` and `pytest_inside` are programs of their own that run by their path or text,
some of them inside the sandbox: they import nothing of ours. Takes commands and folders; gives `CommandEnd`.
"""
