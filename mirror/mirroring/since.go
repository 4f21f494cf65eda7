package mirroring

import (
	"strconv"
	"time"

	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// since returns what an archive omits. The policy for Receipts is not set.
func (o *ArchiveOptions) since() (airgap.Since, error) {
	c := airgap.Since{Full: o.Full, Text: o.Since, Receipts: o.Receipts}
	if o.Since == "" {
		return c, nil
	}
	if n, err := strconv.Atoi(o.Since); err == nil && n > 0 {
		c.Sequence = n
		return c, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if date, err := time.ParseInLocation(layout, o.Since, time.Local); err == nil {
			if date.After(time.Now()) {
				return c, env.InputHint("use the date when the site imported the last archive, or leave it out to omit what all earlier archives have", "Options.Since %s is in the future", o.Since)
			}
			c.Date = date
			return c, nil
		}
	}
	return c, env.InputHint("use the number of an archive, or a date such as 2026-10-01", "Options.Since %q", o.Since)
}
