package mirroring

import (
	"strconv"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Since is what a site has: the archives of a workspace up to one of them. At most one of its fields is set.
type Since struct {
	// Sequence is the number of the archive.
	Sequence int
	// Date is when the site imported it: it is the last one that was written before.
	Date time.Time
}

// ParseSince reads the number of an archive ("2"), a date ("2026-10-01", in the local time zone) or a time
// as in RFC 3339.
func ParseSince(text string) (Since, error) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return Since{Sequence: n}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if date, err := time.ParseInLocation(layout, text, time.Local); err == nil && !date.IsZero() {
			return Since{Date: date}, nil
		}
	}
	return Since{}, env.InputHint("use the number of an archive, or a date such as 2026-10-01", "Options.Since %q", text)
}

// String returns the text that ParseSince reads, or "".
func (s Since) String() string {
	switch {
	case s.Sequence != 0:
		return strconv.Itoa(s.Sequence)
	case s.Date.IsZero():
		return ""
	case s.Date.Equal(time.Date(s.Date.Year(), s.Date.Month(), s.Date.Day(), 0, 0, 0, 0, time.Local)):
		return s.Date.Format(time.DateOnly)
	}
	return s.Date.Format(time.RFC3339)
}

// since returns what an archive omits. The policy for Receipts is not set.
func (o *ArchiveOptions) since() (airgap.Since, error) {
	c := airgap.Since{Full: o.Full, Text: o.Since.String(), Receipts: o.Receipts, Sequence: o.Since.Sequence, Date: o.Since.Date}
	switch {
	case c.Sequence < 0, c.Sequence > 0 && !c.Date.IsZero():
		return c, env.InputHint("use the number of an archive or a date", "Options.Since has the number %d and the date %s", c.Sequence, c.Date.Format(time.DateOnly))
	case c.Date.After(time.Now()):
		return c, env.InputHint("use the date when the site imported the last archive, or leave it out to omit what all earlier archives have", "Options.Since %s is in the future", o.Since)
	}
	return c, nil
}
