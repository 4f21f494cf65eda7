package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// How long OpenInput and OpenOutput wait for a pipe.
const (
	writerWait = 5 * time.Second // until a process writes to it
	readerWait = 5 * time.Second // until a process reads from it
	dataWait   = time.Minute     // for the next bytes
)

// ErrNoWriter means that no process writes to a pipe.
var ErrNoWriter = errors.New("it is a pipe that no process writes to")

// An Input is a file of the user that is read once: a regular file, or a pipe such as /dev/stdin or
// a process substitution of a shell.
type Input struct {
	file   *os.File
	pipe   bool
	data   bool
	writer time.Duration // how long to wait for a writer
}

// OpenInput opens a file to read. It does not wait until a process opens the other end of a pipe:
// Read does, for a few seconds.
func OpenInput(name string) (*Input, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	in := &Input{file: f, writer: writerWait}
	if info, err := f.Stat(); err == nil {
		in.pipe = info.Mode()&fs.ModeNamedPipe != 0
	}
	return in, nil
}

// ReadInput reads a file as OpenInput opens it, of at most limit bytes.
func ReadInput(name string, limit int64) ([]byte, fs.FileInfo, error) {
	in, err := OpenInput(name)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, nil, err
	}
	text, err := readAll(in, info, name, limit)
	return text, info, err
}

// ReadStart reads the first bytes of a file as OpenInput opens it, at most limit.
func ReadStart(name string, limit int64) ([]byte, fs.FileInfo, error) {
	in, err := OpenInput(name)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, limit))
	return text, info, err
}

// Stat returns information about the file.
func (in *Input) Stat() (fs.FileInfo, error) { return in.file.Stat() }

// Close closes the file.
func (in *Input) Close() error { return in.file.Close() }

// Read reads from the file. A pipe without a writer is an ErrNoWriter, and one that has nothing to
// read for a minute an error, too.
func (in *Input) Read(p []byte) (int, error) {
	if !in.pipe {
		return in.file.Read(p)
	}
	end := time.Now().Add(in.writer)
	for {
		// Not every system can wait for a pipe with a deadline; then Read waits without one.
		_ = in.file.SetReadDeadline(time.Now().Add(dataWait))
		n, err := in.file.Read(p)
		in.data = in.data || n > 0
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return n, fmt.Errorf("reading %s: nothing was written to the pipe for %s", in.file.Name(), dataWait)
		case err != io.EOF || in.data || len(p) == 0:
			return n, err
		case !time.Now().Before(end):
			return 0, fmt.Errorf("reading %s: %w", in.file.Name(), ErrNoWriter)
		}
		<-time.After(min(50*time.Millisecond, in.writer))
	}
}
