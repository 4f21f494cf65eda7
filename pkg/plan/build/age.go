package build

import "time"

// day returns a time as a date, or "" for none.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// youngest returns the time before which content must have been created, or zero if its age does not matter.
func (o Options) youngest() time.Time {
	if o.MinAge <= 0 {
		return time.Time{}
	}
	return o.Now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -o.MinAge)
}

// tooYoung reports whether something was created too late. A zero time is unknown, and not too young.
func (o Options) tooYoung(created time.Time) bool {
	limit := o.youngest()
	return !limit.IsZero() && !created.IsZero() && !created.Before(limit)
}
