package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrNoReader means that no process reads from a pipe.
var ErrNoReader = errors.New("it is a pipe that no process reads from")

// OpenOutput opens a file to write, as os.OpenFile does. If it is a pipe, it waits a few seconds for a
// process that reads from it.
func OpenOutput(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return openOutput(name, flag, perm, readerWait)
}

func openOutput(name string, flag int, perm fs.FileMode, wait time.Duration) (*os.File, error) {
	for end := time.Now().Add(wait); ; <-time.After(min(50*time.Millisecond, wait)) {
		f, err := os.OpenFile(name, flag|nonblock, perm)
		if err == nil || !isUnread(err) || !isPipe(name) {
			return f, err
		}
		if !time.Now().Before(end) {
			return nil, fmt.Errorf("opening %s: %w", name, ErrNoReader)
		}
	}
}

func isPipe(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}
