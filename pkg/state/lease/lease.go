// Package lease lets only one run at a time change a registry, from whatever host it runs.
//
// A registry has no operation that tests and sets, only manifests under tags that the last writer
// replaces. A lease therefore uses two tags of one repository. To acquire it, a run
//
//  1. writes its name under "next",
//  2. reads "current", and gives up if another run has the lease,
//  3. writes its name under "current",
//  4. reads "next", and has the lease if its own name is still there.
//
// Of any number of runs that do this at the same time, in whatever order their requests arrive, at
// most one passes step 4: the run that was the last to write "next" before any of them wrote
// "current". Releasing is a fifth request. If no run passes, the one whose name remained under
// "current" tries again after a wait, which is long enough for a run that did pass to restore its
// name.
//
// The holder renews its name twice a minute, with two requests. A name that was not renewed for ten
// minutes, by the clock of the registry, is stale: its run was killed, and the next one takes the
// lease over. A holder that finds out that this happened to it, because it was suspended, ends: see
// [Lease.Hold].
//
// Runs that copy shards of one plan share the registry: each has a lease of its own, under two tags of its
// own ([Options.Shard]). Having it, it reads "current" and the tags of all other shards, and gives up if
// another plan, or a run that shares with none, has one of them. A run that shares with none does the same
// with the tags of the shards after step 4. Since both write their own name before they read the others, at
// least one of two sees the other. A name under the tag of a shard may be one that is going to be replaced
// (step 3). So a shard writes its name once more after step 4, as confirmed, and relies on the names of other
// shards only if they are.
package lease

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// The tags of a lease in its repository.
const (
	TagNext    = "next"
	TagCurrent = "current"
)

const (
	// renewEvery is the time between two renewals.
	renewEvery = 30 * time.Second
	// restoreWithin is how long after its last renewal a holder restores a name that another run
	// replaced without knowing it. A run that found no holder waits for longer (tieWait).
	restoreWithin = 40 * time.Second
	tieWait       = 50 * time.Second
	// staleAfter is how long a lease is valid without being renewed.
	staleAfter = 10 * time.Minute
	// clockError is how much the clocks of registry and runs may differ before times mean nothing.
	clockError = 2 * time.Minute
	// pollEvery is the time between two looks at a lease while a run waits for what it becomes.
	pollEvery = 5 * time.Second
	// showsWithin is how long a registry may take until it returns what it accepted.
	showsWithin = 20 * time.Second
)

// A Registry stores the manifests of a lease.
type Registry interface {
	// Tags returns the tags of the repository.
	Tags(ctx context.Context) ([]string, error)
	// Read returns the manifest under a tag, or nil if there is none.
	Read(ctx context.Context, tag string) ([]byte, error)
	Write(ctx context.Context, tag string, raw []byte) error
	// Now returns the time of the registry.
	Now() time.Time
}

// Options say who acquires a lease.
type Options struct {
	Host, User, Machine string
	Process             int
	// Shard, such as "2/4", shares the registry with other shards of the plan whose digest is Group. A run
	// of the same shard of the same plan is replaced: it ends with a *LostError. "" shares with none.
	Shard, Group string
	// Ended reports whether a run has certainly ended, although it did not release the lease. Nil
	// never reports it.
	Ended func(Record) bool
	// Began is called with the ID of this run before the lease is requested.
	Began func(id string) error
	// TookOver is called after the lease of a run that ended without releasing it was taken over.
	TookOver func(from Record)
	// Say receives why the run waits. Nil drops it.
	Say func(text string)
	// Warn receives why the lease cannot be renewed, once. Nil drops it.
	Warn func(err error)
}

// A HeldError means that another run has the lease.
type HeldError struct {
	Where string // of the lease; set by callers
	By    Record
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is used by another run: %s", e.Where, e.By.Owner())
}

// Advice implements advice.Adviser.
func (e *HeldError) Advice() (advice.Kind, string) {
	return advice.Locked, "wait for that run to end; if it was killed, run again after " + e.By.Renewed.Add(staleAfter).UTC().Format("15:04 UTC")
}

// A Lease belongs to this run until it is released or lost.
type Lease struct {
	registry Registry
	o        Options
	// next and current are the tags.
	next, current string
	self          Record
	confirmed     time.Time // when "current" had this run's name for certain
}

// Acquire returns the lease of a registry, or a *HeldError.
func Acquire(ctx context.Context, registry Registry, o Options) (*Lease, error) {
	l := &Lease{registry: registry, o: o, next: TagNext, current: TagCurrent, self: Record{
		Shard: o.Shard, Group: o.Group,
		ID: rand.Text(), Host: o.Host, User: o.User, Machine: o.Machine, Process: o.Process, Since: time.Now().UTC().Truncate(time.Second),
	}}
	if o.Shard != "" {
		l.current = shardTag(o.Shard)
		l.next = l.current + nextSuffix
	}
	if o.Began != nil {
		if err := o.Began(l.self.ID); err != nil {
			return nil, err
		}
	}
	for {
		l.self.Attempt++
		acquired, err := l.try(ctx)
		if acquired {
			err = l.checkOthers(ctx)
		}
		if acquired || err != nil {
			return l, err
		}
	}
}

// try makes one attempt. It returns false if another one is worth it.
func (l *Lease) try(ctx context.Context) (bool, error) {
	if err := l.write(ctx, l.next); err != nil {
		return false, err
	}
	before, err := l.read(ctx, l.current)
	if err != nil {
		return false, err
	}
	var from *Record
	if before != nil && !before.Released && before.ID != l.self.ID {
		stale, err := l.stale(ctx, l.current, before)
		if err != nil {
			return false, err
		}
		if !stale {
			return false, &HeldError{By: *before}
		}
		from, l.self.Replaced = before, before.ID
		if l.sharesWith(before) {
			from = nil // it is replaced, whether it has ended or not
		}
	}
	if err := l.write(ctx, l.current); err != nil {
		return false, err
	}
	written := time.Now()
	last, err := l.watchRecord(ctx, l.next, showsWithin, func(now *Record) bool { return now != nil })
	switch {
	case err != nil:
		return false, err
	case last == nil:
		return false, advice.Wrap(advice.Failure, fmt.Errorf("the registry accepted the tag %s, and does not return it", l.next),
			"check what is between this machine and the registry, such as a proxy or a replica")
	case last.ID == l.self.ID:
		l.confirmed = written
		if from != nil {
			l.tookOver(*from)
		}
		return true, nil
	}
	l.say(fmt.Sprintf("%s began at the same time; waiting up to %s to see whether it continues", last.Owner(), tieWait))
	now, err := l.watch(ctx, tieWait, l.self.ID)
	if err == nil && now != nil && !now.Released && now.ID != l.self.ID {
		err = &HeldError{By: *now}
	}
	return false, err
}

func (l *Lease) tookOver(from Record) {
	if l.o.TookOver != nil {
		l.o.TookOver(from)
	}
}

// stale reports whether the run of a record, which was under a tag, has ended without releasing its lease.
// One of the shard that this run copies counts as ended.
func (l *Lease) stale(ctx context.Context, tag string, r *Record) (bool, error) {
	if tag == l.current && l.sharesWith(r) && r.Confirmed {
		return true, nil
	}
	if l.o.Ended != nil && l.o.Ended(*r) {
		return true, nil
	}
	age := l.registry.Now().Sub(r.Renewed)
	if age >= -clockError {
		return age > staleAfter, nil
	}
	// It was renewed in the future: a clock was set back. Its run is running if it renews it now.
	l.say(fmt.Sprintf("the lease of %s is dated %s, which is in the future; waiting up to %s to see whether it is renewed", r.Owner(), r.Renewed.UTC().Format(time.RFC3339), 2*tieWait))
	now, err := l.watchRecord(ctx, tag, 2*tieWait, func(now *Record) bool {
		return now == nil || now.ID != r.ID || now.Released || !now.Renewed.Equal(r.Renewed)
	})
	if err != nil {
		return false, err
	}
	if now != nil && !now.Released && (now.ID != r.ID || !now.Renewed.Equal(r.Renewed)) {
		return false, &HeldError{By: *now}
	}
	return true, nil
}

// watch waits until another run than id has the lease or released it, for at most d.
func (l *Lease) watch(ctx context.Context, d time.Duration, id string) (*Record, error) {
	return l.watchRecord(ctx, l.current, d, func(now *Record) bool { return now != nil && now.ID != id })
}

// watchRecord reads the record until done, for at most d, and returns it.
func (l *Lease) watchRecord(ctx context.Context, tag string, d time.Duration, done func(*Record) bool) (*Record, error) {
	end := time.Now().Add(d)
	for {
		now, err := l.read(ctx, tag)
		if err != nil || done(now) || !time.Now().Before(end) {
			return now, err
		}
		if err := wait(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

func (l *Lease) say(text string) {
	if l.o.Say != nil {
		l.o.Say(text)
	}
}

// write writes this run's record under a tag.
func (l *Lease) write(ctx context.Context, tag string) error {
	l.self.Renewed = l.registry.Now()
	raw, err := l.self.Manifest()
	if err != nil {
		return fmt.Errorf("writing a lease: %w", err)
	}
	return l.registry.Write(ctx, tag, raw)
}

// read returns the record under a tag, or nil if there is none. What is no record counts as none: it
// is replaced.
func (l *Lease) read(ctx context.Context, tag string) (*Record, error) {
	raw, err := l.registry.Read(ctx, tag)
	if err != nil || raw == nil {
		return nil, err
	}
	r, err := parse(raw)
	if err != nil {
		return nil, nil //nolint:nilerr // as documented
	}
	return r, nil
}
