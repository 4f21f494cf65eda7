package mirroring

import (
	"strconv"
	"time"

	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// checkSince returns an error if Since, Full and Receipts contradict each other or the destination.
func (o *Options) checkSince() error {
	var given []string
	for _, option := range []struct {
		name string
		set  bool
	}{{"Since", o.Since != ""}, {"Full", o.Full}, {"Receipts", len(o.Receipts) > 0}} {
		if option.set {
			given = append(given, option.name)
		}
	}
	switch {
	case len(given) > 0 && !o.toArchive():
		return env.Inputf("Options.%s is for file:// destinations", given[0])
	case len(given) > 1:
		return env.InputHint("set one of the two", "Options.%s and Options.%s both set what the archive omits", given[0], given[1])
	}
	_, err := o.since()
	return err
}

// since returns what an archive omits. The policy for Receipts is not set.
func (o *Options) since() (airgap.Since, error) {
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
