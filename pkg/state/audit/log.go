package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A Log is the log in a folder. One process may use it at a time; its methods may be called by several
// goroutines.
type Log struct {
	mu     sync.Mutex
	folder *os.Root
	name   string
	head   Head
	// keep saves the head.
	keep func(Head) error
	// removed means that the log had entries, and that the file and its head are gone.
	removed bool
}

// New returns the log of this name in a folder, with the head that keep saved last.
func New(folder *os.Root, name string, head Head, keep func(Head) error) *Log {
	return &Log{folder: folder, name: name, head: head, keep: keep}
}

// Removed says that the log had entries, and that the file and its head are gone: the next entry says so.
func (l *Log) Removed() { l.removed = true }

// Append writes entries to the disk. If that fails, the log is as before.
func (l *Log) Append(now time.Time, entries ...Entry) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := regular.Edit(l.folder, l.name, os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, repaired, err := l.resume(f, now)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	head := l.head
	var text bytes.Buffer
	for _, e := range append(repaired, entries...) {
		e.Sequence, e.Previous = head.Sequence+1, head.Hash
		line, err := e.line()
		if err != nil {
			return err
		}
		head = Head{Sequence: e.Sequence, Hash: hash(line)}
		text.Write(append(line, '\n'))
	}
	_, err = f.Write(text.Bytes())
	if err = errors.Join(err, f.Sync()); err != nil {
		return errors.Join(fmt.Errorf("writing the audit log: %w", err), f.Truncate(size)) // a disk that is full
	}
	l.head = head
	if err := l.keep(head); err != nil {
		return fmt.Errorf("writing the head of the audit log: %w", err)
	}
	return nil
}

// resume finds the last line, removes a part of a line after it, and returns the size of the file then.
// The entries say what is wrong with the file.
func (l *Log) resume(f *os.File, now time.Time) (size int64, entries []Entry, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	size = info.Size()
	tail := make([]byte, min(size, 2*maxLine))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, err
	}
	torn := tail[bytes.LastIndexByte(tail, '\n')+1:]
	if len(torn) > maxLine { // no run wrote it
		if _, err := f.WriteString("\n"); err != nil {
			return 0, nil, err
		}
		size++
	} else if len(torn) > 0 {
		entries = append(entries, Entry{Time: now, Event: Recovered, Message: fmt.Sprintf("a run was killed while it wrote; removed %d bytes with the SHA-256 %s", len(torn), hash(torn))})
		size -= int64(len(torn))
		tail = tail[:len(tail)-len(torn)]
		if err := f.Truncate(size); err != nil {
			return 0, nil, err
		}
	}
	expected := l.head
	line := bytes.TrimSuffix(tail, []byte("\n"))
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	if size == 0 {
		l.head = Head{}
	} else {
		var last Entry
		if err := json.Unmarshal(line, &last); err != nil {
			last.Sequence = expected.Sequence
		}
		l.head = Head{Sequence: last.Sequence, Hash: hash(line)}
	}
	switch {
	case l.removed && size == 0:
		l.removed = false
		entries = append(entries, Entry{Time: now, Event: Damaged, Message: "the log was removed outside of Gantry, with the number and hash of its last entry"})
	case expected.Sequence == 0 && l.head.Sequence > 1:
		entries = append(entries, Entry{Time: now, Event: Damaged, Message: fmt.Sprintf("the number and hash of the last entry were lost: it is not known whether entries after %d were removed", l.head.Sequence)})
	case l.head.Sequence < expected.Sequence || l.head.Sequence == expected.Sequence && l.head.Hash != expected.Hash:
		entries = append(entries, Entry{Time: now, Event: Damaged, Message: fmt.Sprintf(
			"the log was changed outside of Gantry: it ended with entry %d and the hash %s, and should have ended with entry %d and the hash %s", l.head.Sequence, l.head.Hash, expected.Sequence, expected.Hash)})
	}
	return size, entries, nil
}
