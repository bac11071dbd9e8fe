git log --oneline "$1"
