"""``python -m onceward_worker`` is ``onceward-worker``."""

from onceward_worker.cli import main

if __name__ == "__main__":
    main()
