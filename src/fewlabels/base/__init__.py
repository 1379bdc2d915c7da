"""What all estimators share: parameters, lock, time limit, stored solution, exact updates."""
