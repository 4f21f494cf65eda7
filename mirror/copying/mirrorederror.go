package copying

// A MirroredError is the error of a run that mirrored everything, and then could not prune.
type MirroredError struct{ Err error }

// Error implements error.
func (e *MirroredError) Error() string { return e.Err.Error() }

// Unwrap returns the error with its kind and hint.
func (e *MirroredError) Unwrap() error { return e.Err }
