package lease

import (
	"context"
	"slices"
	"strings"
)

const (
	shardPrefix = "shard-"
	nextSuffix  = ".next"
	// maxShardTags limits how many leases of shards are read.
	maxShardTags = 10_000
)

// shardTag returns the tag of the lease of a shard such as "2/4".
func shardTag(shard string) string { return shardPrefix + strings.ReplaceAll(shard, "/", "-of-") }

// sharesWith reports whether a run and this one copy shards of one plan.
func (l *Lease) sharesWith(r *Record) bool {
	return l.o.Shard != "" && r.Shard != "" && r.Group == l.o.Group
}

// checkOthers releases the lease and returns a *HeldError if a run has another lease of the registry that this
// one cannot share it with. Leases of runs that ended without releasing them are taken over, so that these
// runs end if they were only suspended.
func (l *Lease) checkOthers(ctx context.Context) error {
	err := l.findOthers(ctx)
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	l.self.Released = true
	_ = l.write(ctx, l.current) // the other error is returned; this lease becomes stale
	return err
}

func (l *Lease) findOthers(ctx context.Context) error {
	if l.o.Shard != "" {
		l.self.Confirmed = true
		if err := l.write(ctx, l.current); err != nil {
			return err
		}
	}
	tags, err := l.registry.Tags(ctx)
	if err != nil {
		return err
	}
	slices.Sort(tags)
	others := []string{}
	if l.o.Shard != "" {
		others = append(others, TagCurrent)
	}
	for _, tag := range tags {
		if strings.HasPrefix(tag, shardPrefix) && !strings.HasSuffix(tag, nextSuffix) && tag != l.current && len(others) < maxShardTags {
			others = append(others, tag)
		}
	}
	for _, tag := range others {
		other, err := l.read(ctx, tag)
		if err != nil {
			return err
		}
		if other != nil && l.sharesWith(other) && !other.Confirmed {
			if other, err = l.confirmedAt(ctx, tag, other.ID); err != nil {
				return err
			}
		}
		if other == nil || other.Released || other.ID == l.self.ID || l.sharesWith(other) {
			continue
		}
		stale, err := l.stale(ctx, tag, other)
		if err != nil {
			return err
		}
		if !stale {
			return &HeldError{By: *other}
		}
		ended := *l
		ended.self.Released, ended.self.Replaced = true, other.ID
		if err := ended.write(ctx, tag); err != nil {
			return err
		}
		l.tookOver(*other)
	}
	return nil
}

// confirmedAt waits until the run with an ID confirms its name under a tag, or another one is there. A run that
// does neither was killed.
func (l *Lease) confirmedAt(ctx context.Context, tag, id string) (*Record, error) {
	return l.watchRecord(ctx, tag, tieWait, func(now *Record) bool {
		return now == nil || now.ID != id || now.Confirmed || now.Released
	})
}
