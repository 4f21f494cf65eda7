// Package audit is an append-only log of what runs did, in which changes are detected.
//
// The log is a file of lines, each a JSON object: an [Entry]. Each entry has a number and the SHA-256
// of the line before it, so that an entry cannot be changed, removed or inserted without changing all
// that follow. The number and the hash of the last line are also kept outside the file, as its [Head]:
// the end of the file cannot be removed either. An entry is on the disk before the head names it.
//
// After a crash, the file may have entries that the head does not name yet, which is no damage (a head is
// missing only as long as there is one entry), and end in a part of a line. That part is removed when the next entry is appended, and an entry with the
// event [Recovered] has its length and hash. If the file does not match its head, it is never changed:
// an entry with the event [Damaged] says so, and Verify returns the damage from then on.
//
// The package contains no clock and knows no secrets: callers pass times, and text without secrets.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// An Event is what an entry is about.
type Event string

// The events.
const (
	RunBegan         Event = "run-began"
	RunEnded         Event = "run-ended"
	LeaseTakenOver   Event = "lease-taken-over"
	CatalogPublished Event = "catalog-published"
	ReleasePublished Event = "release-published"
	Withheld         Event = "withheld" // a catalog or release was not published
	Verified         Event = "signatures-verified"
	ImageFailed      Event = "image-failed" // it is not at the destination
	Deleted          Event = "deleted"
	Gate             Event = "gate" // a program or person accepted or refused something
	Recovered        Event = "recovered"
	Damaged          Event = "damaged"
)

// An Entry is a line of the log. Append sets Sequence and Previous.
type Entry struct {
	Sequence int64     `json:"sequence"`
	Time     time.Time `json:"time"`
	Event    Event     `json:"event"`
	// Run is the same for all entries of a run.
	Run         string `json:"run,omitempty"`
	Destination string `json:"destination,omitempty"`
	// Name is the image set.
	Name string `json:"name,omitempty"`
	// Subject is what the event is about: an image, a catalog, a release, a policy, a program.
	Subject string `json:"subject,omitempty"`
	// Digest is the one of the subject or, for runs, of the plan.
	Digest string `json:"digest,omitempty"`
	// By is a person, a process or a signer.
	By string `json:"by,omitempty"`
	// Result is how it ended: "complete", "refused".
	Result  string `json:"result,omitempty"`
	Images  int    `json:"images,omitempty"`
	Copied  int    `json:"copied,omitempty"`
	Failed  int    `json:"failed,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Message string `json:"message,omitempty"`
	// Previous is the SHA-256 of the line before, in hexadecimal; "" for the first.
	Previous string `json:"previous"`
}

// A Head is the last line of a log: its number and hash. The zero Head is an empty log.
type Head struct {
	Sequence int64  `json:"sequence"`
	Hash     string `json:"hash"`
}

const (
	// maxText is how many bytes of a text are kept.
	maxText = 4 << 10
	// maxLine is how many bytes a line may have.
	maxLine = 64 << 10
)

// line returns an entry as a line without its end.
func (e Entry) line() ([]byte, error) {
	for _, text := range []*string{&e.Run, &e.Destination, &e.Name, &e.Subject, &e.Digest, &e.By, &e.Result, &e.Message} {
		*text = shorten(*text)
	}
	e.Time = e.Time.UTC()
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("writing an audit entry: %w", err)
	}
	return raw, nil
}

// shorten returns at most maxText bytes of a text.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

func hash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}
