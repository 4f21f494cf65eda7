package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/plan"
)

// archiveTarget is a folder on the medium that is carried.
type archiveTarget struct {
	dir  string
	opts archive.Options
	next *carry.Next // what is written there, once it is prepared
}

func (t *archiveTarget) registry() *registryTarget { return nil }

func (t *archiveTarget) look(ctx context.Context, p *plan.Plan) (*mirror.Missing, error) {
	return t.next.Look(ctx, p)
}

func (t *archiveTarget) mirror(ctx context.Context, p *plan.Plan, source mirror.Source, run mirror.Options) (*mirror.Report, error) {
	return t.next.Mirror(ctx, p, source, run)
}

// prepare finds what the archive may leave out, as the flags say.
func (a *app) prepare(ctx context.Context, s *session, t *archiveTarget, f *mirrorFlags, key *sshsig.Key, p *plan.Plan) error {
	opts := carry.Options{Again: f.onError == onErrorPackage}
	var err error
	if opts.Since, err = f.choice(); err != nil {
		return err
	}
	if f.receipt != "" {
		if opts.Since.Policy, err = a.policy(&f.trust); err != nil {
			return err
		}
	}
	if key != nil {
		opts.Voucher = &carry.Voucher{Key: key.Signer().Key, Policy: func() (*sshsig.Policy, error) { return a.policy(&f.trust) }}
	}
	if err := a.settle(ctx, s, t, opts, p); err != nil {
		return err
	}
	if t.next.Unencrypted() {
		a.warn("the archive before this one is encrypted, and this one will not be: give --encrypt-to where it should be")
	}
	return nil
}

// settle finds what the archive of a plan may leave out, and says why where that is not
// what was to be expected.
func (a *app) settle(ctx context.Context, s *session, t *archiveTarget, opts carry.Options, p *plan.Plan) (err error) {
	opts.Dir, opts.Archive = t.dir, t.opts
	if t.next, err = carry.Prepare(ctx, s.Workspace, p, opts); err != nil {
		return err
	}
	if remark := t.next.Remark(); remark != "" {
		a.say("%s", remark)
	}
	return nil
}

// writeHeadline says what became of an archive that builds on others, where no image was
// copied.
func writeHeadline(b *strings.Builder, r *carry.Written, images int, destination string) {
	switch {
	case r.Already:
		fmt.Fprintf(b, "Nothing to copy: sequence %d at %s is of this content. It builds on sequence %d, which is needed beside it where a site never imported that.\n", r.Sequence, destination, r.BuildsOn)
	case r.Empty:
		where, more := whereText(r.Where), "For a second copy of a disk, copy its files; --full writes all content.\n"
		if rest, ok := strings.CutPrefix(where, "the site has "); ok {
			where, more = "are at the site "+rest, "--full writes all content.\n"
		}
		what := fmt.Sprintf("all %d images ", images)
		if images == 1 {
			what, where = "the image ", strings.Replace(where, "are ", "is ", 1)
		}
		fmt.Fprintf(b, "Nothing to copy, and nothing to carry: sequence %d at %s has no content, since %s%s.\n%s", r.Sequence, destination, what, where, more)
	default: // an earlier run had copied all of it
		fmt.Fprintf(b, "Nothing was left to copy: sequence %d at %s is complete now.\n", r.Sequence, destination)
	}
}

// writeLeftOut says what the archive leaves out.
func writeLeftOut(b *strings.Builder, r *carry.Written) {
	if r == nil || r.LeftOut == nil || r.Empty {
		return
	}
	n, what := r.LeftOut.Blobs, number(r.LeftOut.Blobs, "blob", "blobs")
	if n == 0 {
		n, what = r.LeftOut.Manifests, number(r.LeftOut.Manifests, "manifest", "manifests")
	}
	said := whereText(r.Where)
	if rest, ok := strings.CutPrefix(said, "are "); ok && n == 1 {
		said = "is " + rest
	}
	fmt.Fprintf(b, "Sequence %d leaves out %s (%s), which %s; --full writes all content.\n", r.Sequence, what, progress.Bytes(r.LeftOut.Bytes), said)
}

// whereText says where content is that was left out, as a sentence goes on.
func whereText(w carry.Where) string {
	switch {
	case w.Receipt:
		return fmt.Sprintf("the site has by its receipt, which goes up to sequence %d", w.Last)
	case w.First == 0:
		return fmt.Sprintf("are in sequence %d and those before it", w.Last)
	case w.First == w.Last:
		return fmt.Sprintf("are in sequence %d", w.Last)
	}
	return fmt.Sprintf("are in sequences %d to %d", w.First, w.Last)
}
