"""`python -m exportlint`."""

from exportlint.cli import main

if __name__ == "__main__":
    main()
