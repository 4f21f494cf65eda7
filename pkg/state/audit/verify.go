package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Result is what Verify found.
type Result struct {
	// Entries is how many there are, and Head the last of them.
	Entries int64 `json:"entries"`
	Head    Head  `json:"head"`
	// Problems are the places where the log was changed, with their lines. Without any, the log is
	// complete and unchanged.
	Problems []string `json:"problems,omitempty"`
	// Notes are what is unusual but no damage: a run that was killed, a clock that was set back.
	Notes []string `json:"notes,omitempty"`
	// Last are the last entries.
	Last []Entry `json:"last"`
}

// maxProblems is how many problems are listed.
const maxProblems = 20

// Verify reads a log and compares it with its head. It returns the last entries, at most last; a
// negative number returns all. The error is about reading; see Result.Problems for damage.
func Verify(in io.Reader, head Head, last int) (*Result, error) {
	r := &Result{Last: []Entry{}}
	reached := head.Sequence == 0
	problem := func(n int64, format string, args ...any) {
		if len(r.Problems) < maxProblems {
			r.Problems = append(r.Problems, fmt.Sprintf("line %d: %s", n, fmt.Sprintf(format, args...)))
		}
	}
	var before Entry
	lines := bufio.NewReaderSize(in, maxLine)
	for n := int64(1); ; n++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			switch {
			case head.Sequence == 0 && r.Head.Sequence > 1:
				r.Problems = append(r.Problems, "the number and hash of the last entry are missing, so it is not known whether the log has its end")
			case !reached:
				r.Problems = append(r.Problems, fmt.Sprintf("the end is missing: there are %d entries, and %d were written", r.Head.Sequence, head.Sequence))
			}
			return r, nil
		case errors.Is(err, io.EOF):
			r.Notes = append(r.Notes, fmt.Sprintf("line %d is not complete: a run is writing it, or was killed", n))
			continue // the next read returns the end
		case errors.Is(err, bufio.ErrBufferFull):
			problem(n, "it has more than %d bytes", maxLine)
			r.Head.Hash = ""
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			continue
		case err != nil:
			return r, fmt.Errorf("reading the audit log: %w", err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			problem(n, "it is not an entry: %v", err)
		}
		if e.Previous != r.Head.Hash {
			problem(n, "it does not follow the line before: that one was changed, or lines were removed or inserted")
		}
		if e.Sequence != before.Sequence+1 {
			problem(n, "it is entry %d, and %d was expected", e.Sequence, before.Sequence+1)
		}
		if e.Event == Damaged {
			problem(n, "%s", e.Message)
		}
		if e.Time.Before(before.Time) {
			r.Notes = append(r.Notes, fmt.Sprintf("line %d: the clock was set back by %s", n, before.Time.Sub(e.Time)))
		}
		r.Entries, r.Head, before = n, Head{Sequence: e.Sequence, Hash: hash(line)}, e
		if e.Sequence == head.Sequence && !reached {
			if reached = true; r.Head.Hash != head.Hash {
				problem(n, "it is not the entry that was written")
			}
		}
		if last != 0 {
			if last > 0 && len(r.Last) == last {
				r.Last = append(r.Last[:0], r.Last[1:]...)
			}
			r.Last = append(r.Last, e)
		}
	}
}
