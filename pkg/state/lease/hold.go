package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// releaseTimeout is how long releasing may take. After an interruption, the program ends within two
// seconds.
const releaseTimeout = time.Second

// A LostError ends a run whose lease another run took over.
type LostError struct {
	Where string // of the lease; set by callers
	To    Record
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s was taken over by another run, because this one did not respond for some time: %s", e.Where, e.To.Owner())
}

// Advice implements advice.Adviser.
func (e *LostError) Advice() (advice.Kind, string) {
	return advice.Locked, "run again when that run has ended; what is complete is not copied again"
}

// Hold renews the lease until release is called. The context that it returns ends with a *LostError
// if another run took the lease over. release waits for a renewal that has begun, and releases the
// lease, also after ctx has ended. It must be called, and may be called again.
func (l *Lease) Hold(ctx context.Context) (_ context.Context, release func() error) {
	held, end := context.WithCancelCause(ctx)
	renewing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.keep(renewing, end)
	}()
	released := false
	return held, func() error {
		if released {
			return nil
		}
		released = true
		stop()
		<-done
		if _, ok := errors.AsType[*LostError](context.Cause(held)); ok {
			return nil // it belongs to another run
		}
		end(nil)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		if time.Since(l.confirmed) > restoreWithin {
			if now, err := l.read(ctx, l.current); err != nil || now != nil && now.ID != l.self.ID {
				return err
			}
		}
		l.self.Released = true
		return l.write(ctx, l.current)
	}
}

// keep renews the lease until ctx ends or the lease is lost.
func (l *Lease) keep(ctx context.Context, end context.CancelCauseFunc) {
	warned := false
	for wait(ctx, renewEvery) == nil {
		err := l.renew(ctx)
		var lost *LostError
		switch {
		case errors.As(err, &lost):
			end(err)
			return
		case err != nil && ctx.Err() == nil && !warned && l.o.Warn != nil:
			warned = true
			l.o.Warn(err)
		}
	}
}

// renew writes the record again, if no other run took the lease over. A record of another run may
// also be from one that began at the same time as this one, and wrote it without knowing.
func (l *Lease) renew(ctx context.Context) error {
	now, err := l.read(ctx, l.current)
	if err != nil {
		return err
	}
	if now != nil && now.ID != l.self.ID {
		late := time.Since(l.confirmed) > restoreWithin
		if late || now.Replaced == l.self.ID || now.Attempt > 1 || now.Released {
			return &LostError{To: *now}
		}
	}
	if err := l.write(ctx, l.current); err != nil {
		return err
	}
	l.confirmed = time.Now()
	return nil
}
