package remote

import (
	"context"
	"errors"
)

// mountMinSize is the size, in bytes, from which more than one repository is tried for a mount
// before the blob is uploaded, and maxMounts how many.
const (
	mountMinSize = 1 << 20
	maxMounts    = 3
)

// openSession tries to mount the blob from the repositories in from, one after the other; the last
// attempt leaves an upload session open. Small blobs are uploaded after the first refusal.
func (u *upload) openSession(ctx context.Context) (mounted bool, err error) {
	for len(u.from) > 0 && u.mountsTried < maxMounts {
		from := u.from[0]
		if from == u.at.ref.Path {
			u.from = u.from[1:]
			continue
		}
		mounted, err = u.post(ctx, from)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.retryable || e.Status == 0) {
			return false, err
		}
		u.from, u.mountsTried = u.from[1:], u.mountsTried+1
		if mounted {
			return true, nil
		}
		if err != nil {
			continue // the registry refuses to mount from there
		}
		if len(u.from) == 0 || u.mountsTried == maxMounts || u.desc.Size < mountMinSize {
			u.from = nil
			return false, nil
		}
		u.tryCancel(ctx)
	}
	u.from = nil
	return u.post(ctx, "")
}
