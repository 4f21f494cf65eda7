package regular

import "os"

// Temporary creates a temporary file in a folder, which it makes; "" is the folder of the system. Where an open file can
// be removed, nothing remains of it if the process is killed.
func Temporary(dir, pattern string) (*os.File, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // Discard does it where an open file cannot be removed
	return f, nil
}

// Discard closes and removes a temporary file, if there is one.
func Discard(f *os.File) {
	if f != nil {
		_ = f.Close()           // it is no longer needed
		_ = os.Remove(f.Name()) // it is removed already where that is possible
	}
}
