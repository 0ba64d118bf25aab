"""``python -m onceward_controller`` is ``onceward``."""

from onceward_controller.cli import main

if __name__ == "__main__":
    main()
