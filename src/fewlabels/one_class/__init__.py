"""Learn one class: SVDD, OneClassSVM, SVDDEnsemble."""
