package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
)

// planLevel is klauspost's own default. Plans are lists of digests, each named a few
// times: a quarter of the bytes is left, and the best level would save 2 % of that.
const planLevel = 5

// planFile is gantry/plan.json.gz: the plan that text writes, compressed. The same plan
// gives the same bytes, as long as the compressor does not change; what tells plans
// apart is the digest of what is in it.
func planFile(text Text) Text {
	return func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, planLevel)
		if err != nil {
			return err
		}
		if err := text(z); err != nil {
			return err
		}
		return z.Close()
	}
}

// addPlan measures the plan and makes it a file of the set, unless the site has it.
func (p *packing) addPlan(text Text, has digest.Digest) (*entry, error) {
	var plain digest.Digest
	var long int64
	file := planFile(text)
	d, size, err := planFile(func(w io.Writer) (err error) {
		plain, long, err = Text(func(hash io.Writer) error { return text(io.MultiWriter(w, hash)) }).measure()
		return err
	}).measure()
	switch {
	case err != nil:
		return nil, err
	case long > maxPlan:
		return nil, fmt.Errorf("a plan of %d bytes: the limit is %d", long, maxPlan)
	case p.set.Repairs != nil && plain != p.set.Plan:
		return nil, fmt.Errorf("the plan is %s, but that of the set to be mended is %s", plain, p.set.Plan)
	}
	p.set.Plan = plain
	if plain == has {
		return nil, nil
	}
	p.files[planPath] = file
	return &entry{Path: planPath, Digest: d, Size: size}, nil
}

// PlanDigest is what the set manifest says that the plan's digest is.
func (a *Archive) PlanDigest() digest.Digest { return a.set.Plan }

// OpenPlan opens the plan that came with the content. One that was altered ends in a
// *DamageError in place of io.EOF; one that none of the sets has that are here wraps
// fs.ErrNotExist.
func (a *Archive) OpenPlan(ctx context.Context) (io.ReadCloser, error) {
	if err := a.Locked(); err != nil {
		return nil, err
	}
	copies := a.plans(a.set.Plan)
	if len(copies) == 0 {
		return nil, fmt.Errorf("the archive in %s has no plan: it is that of an earlier set: %w", a.dir(), a.wanted())
	}
	if len(copies) > 1 { // none is relied on before it was read
		for _, have := range copies {
			if a.checkPlan(ctx, have) == nil {
				return a.openPlan(ctx, have)
			}
		}
	}
	return a.openPlan(ctx, copies[0])
}

func (a *Archive) openPlan(ctx context.Context, have []place) (io.ReadCloser, error) {
	file, err := a.open(ctx, have, 0)
	if err != nil {
		return nil, err
	}
	return &planReader{archive: a, file: file, have: have, sum: digest.SHA256.Digester()}, nil
}

func (a *Archive) checkPlan(ctx context.Context, have []place) error {
	text, err := a.openPlan(ctx, have)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, text)
	return errors.Join(err, text.Close())
}

// verifyPlan makes sure that one of the files with the plan, which are as they were
// written, has the plan that the set manifest names.
func (a *Archive) verifyPlan(ctx context.Context) (err error) {
	if a.newest().locked() {
		return nil
	}
	for _, have := range a.plans(a.set.Plan) {
		if err = a.checkPlan(ctx, have); err == nil {
			return nil
		}
	}
	return err
}

// plans are the places of a plan's file, in the order of preference. Where two versions
// of the compressor wrote it, the files differ: places of the same bytes are together.
func (a *Archive) plans(plan digest.Digest) [][]place {
	var copies [][]place
	for _, p := range a.files {
		if p.entry.Path != planPath || a.members[p.member].set.Plan != plan {
			continue
		}
		if n := len(copies); n > 0 && copies[n-1][0].entry.Digest == p.entry.Digest {
			copies[n-1] = append(copies[n-1], p)
		} else {
			copies = append(copies, []place{p})
		}
	}
	slices.SortStableFunc(copies, func(a, b []place) int { return cmp.Compare(a[0].member, b[0].member) })
	return copies
}

// A planReader reads a plan out of its file and compares it with its digest.
type planReader struct {
	archive *Archive
	have    []place
	file    io.ReadCloser
	text    *gzip.Reader // nil before the first byte
	sum     digest.Digester
	n       int64
	err     error // what reading ended with
}

func (r *planReader) Read(p []byte) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.text == nil {
		if r.text, err = gzip.NewReader(r.file); err != nil {
			r.err = r.broken(err)
			return 0, r.err
		}
	}
	n, err = r.text.Read(p)
	r.n += int64(n)
	r.sum.Hash().Write(p[:n])
	switch {
	case r.n > maxPlan:
		n, r.err = 0, fmt.Errorf("the plan of the archive in %s is longer than the %d bytes that are allowed", r.archive.dir(), maxPlan)
	case err == io.EOF && r.sum.Digest() != r.archive.set.Plan:
		r.err = r.damage(fmt.Sprintf("the plan in it is %s, the set manifest says %s", r.sum.Digest(), r.archive.set.Plan))
	case err == io.EOF:
		r.err = err
	case err != nil:
		r.err = r.broken(err)
	}
	return n, r.err
}

// broken is what is said where the file does not decompress: what the archive says of
// the file, where that is not as it was written.
func (r *planReader) broken(err error) error {
	if _, damage := io.Copy(io.Discard, r.file); damage != nil {
		return damage
	}
	return r.damage(fmt.Sprintf("it does not decompress: %v", err))
}

func (r *planReader) damage(problem string) error {
	pieces := r.archive.pieces(r.have, anyPiece)
	return &DamageError{Dir: r.archive.dir(), Damage: []Damage{pieces[0].damage(problem)}}
}

func (r *planReader) Close() error { return r.file.Close() }
