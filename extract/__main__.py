"""Lets ``python -m extract`` do what the ``extract`` command does."""

from extract.cli import main

if __name__ == "__main__":
    main()
