package remote

import (
	"context"
	"errors"
)

// mountWorth is the size, in bytes, from which further repositories are asked
// for a blob before it is uploaded, and mountTries how many.
const (
	mountWorth = 1 << 20
	mountTries = 3
)

// start asks the repositories in from one after the other, the last one leaving
// a session open. Small blobs are sent after the first refusal.
func (u *upload) start(ctx context.Context) (mounted bool, err error) {
	for len(u.from) > 0 && u.asked < mountTries {
		from := u.from[0]
		if from == u.at.ref.Path {
			u.from = u.from[1:]
			continue
		}
		mounted, err = u.post(ctx, from)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.again || e.Status == 0) {
			return false, err
		}
		u.from, u.asked = u.from[1:], u.asked+1
		if mounted {
			return true, nil
		}
		if err != nil {
			continue // the registry does not mount from there: without it, then
		}
		if len(u.from) == 0 || u.asked == mountTries || u.desc.Size < mountWorth {
			u.from = nil
			return false, nil
		}
		u.quit(ctx)
	}
	u.from = nil
	return u.post(ctx, "")
}
