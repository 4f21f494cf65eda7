package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// planLevel is the default of klauspost/compress. Plans are lists of digests, each named a few
// times: a quarter of the bytes remains, and the best level would save 2 % of that.
const planLevel = 5

// planFile returns gantry/plan.json.gz: the compressed plan. The same plan gives the same bytes as
// long as the compressor does not change. Plans are compared by the digest of the uncompressed
// text.
func planFile(text WriteFunc) WriteFunc {
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

// A packedPlan is a plan and the file of an archive with it.
type packedPlan struct {
	plain digest.Digest // of the uncompressed text
	file  entry
	text  WriteFunc // writes the file
}

// addPlan makes the plan a file of the set, unless the site has it. It measures the plan unless its
// file is known.
func (p *packing) addPlan(c *Content, has digest.Digest) (*entry, error) {
	packed := c.packedPlan
	if packed == nil {
		var err error
		if packed, err = packPlan(c.Plan); err != nil {
			return nil, err
		}
	}
	if p.set.Repairs != nil && packed.plain != p.set.Plan {
		return nil, fmt.Errorf("the plan is %s, but the set to repair has the plan %s", packed.plain, p.set.Plan)
	}
	p.set.Plan = packed.plain
	if packed.plain == has {
		return nil, nil
	}
	p.files[planPath] = packed.text
	file := packed.file
	return &file, nil
}

// packPlan measures a plan and its file.
func packPlan(text WriteFunc) (*packedPlan, error) {
	var plain digest.Digest
	var long int64
	file, d, size, err := planFile(func(w io.Writer) (err error) {
		plain, long, err = WriteFunc(func(hash io.Writer) error { return text(io.MultiWriter(w, hash)) }).measure()
		return err
	}).measureOnce()
	if err == nil && long > maxPlan {
		err = fmt.Errorf("a plan of %d bytes: the limit is %d", long, maxPlan)
	}
	return &packedPlan{plain, entry{Path: planPath, Digest: d, Size: size}, file}, err
}

// PlanDigest returns the plan's digest according to the set manifest.
func (a *Archive) PlanDigest() digest.Digest { return a.set.Plan }

// OpenPlan opens the plan of the content. If the plan was altered, reading ends with a *DamageError
// instead of io.EOF. If none of the opened sets has it, the error wraps fs.ErrNotExist.
func (a *Archive) OpenPlan(ctx context.Context) (io.ReadCloser, error) {
	if err := a.CheckReadable(); err != nil {
		return nil, err
	}
	copies := a.planLocations(a.set.Plan)
	if len(copies) == 0 {
		return nil, fmt.Errorf("the archive in %s has no plan: the plan belongs to an earlier set: %w", a.dirNames(), a.missingSetError())
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

func (a *Archive) openPlan(ctx context.Context, have []location) (io.ReadCloser, error) {
	file, err := a.open(ctx, have, 0, layout.Rest)
	if err != nil {
		return nil, err
	}
	return &planReader{archive: a, file: file, have: have, sum: digest.SHA256.Digester()}, nil
}

func (a *Archive) checkPlan(ctx context.Context, have []location) error {
	text, err := a.openPlan(ctx, have)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, text)
	return errors.Join(err, text.Close())
}

// verifyPlan checks that one of the intact files with the plan contains the plan that the set
// manifest names.
func (a *Archive) verifyPlan(ctx context.Context) (err error) {
	if a.selected().needsIdentity() {
		return nil
	}
	for _, have := range a.planLocations(a.set.Plan) {
		if err = a.checkPlan(ctx, have); err == nil {
			return nil
		}
	}
	return err
}

// planLocations returns the locations of a plan's file, in the order of preference. Two versions of
// the compressor write different files: locations of the same bytes are together.
func (a *Archive) planLocations(plan digest.Digest) [][]location {
	var copies [][]location
	for _, p := range a.files {
		if p.entry.Path != planPath || a.members[p.member].set.Plan != plan {
			continue
		}
		if n := len(copies); n > 0 && copies[n-1][0].entry.Digest == p.entry.Digest {
			copies[n-1] = append(copies[n-1], p)
		} else {
			copies = append(copies, []location{p})
		}
	}
	elements.Sort(copies, func(a, b []location) int { return cmp.Compare(a[0].member, b[0].member) })
	return copies
}

// A planReader reads a plan from its file and compares it with its digest.
type planReader struct {
	archive *Archive
	have    []location
	file    io.ReadCloser
	text    *gzip.Reader // nil before the first byte
	sum     digest.Digester
	n       int64
	err     error // the error that ended reading
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
		n, r.err = 0, fmt.Errorf("the plan of the archive in %s is longer than the %d bytes that are allowed", r.archive.dirNames(), maxPlan)
	case err == io.EOF && r.sum.Digest() != r.archive.set.Plan:
		r.err = r.damage(fmt.Sprintf("the plan in it is %s, the set manifest has %s", r.sum.Digest(), r.archive.set.Plan))
	case err == io.EOF:
		r.err = err
	case err != nil:
		r.err = r.broken(err)
	}
	return n, r.err
}

// broken returns the error for a file that does not decompress: the damage of the file if it was
// altered.
func (r *planReader) broken(err error) error {
	if _, damage := io.Copy(io.Discard, r.file); damage != nil {
		return damage
	}
	return r.damage(fmt.Sprintf("it does not decompress: %v", err))
}

func (r *planReader) damage(problem string) error {
	pieces := r.archive.pieces(r.have, anyPiece)
	return &DamageError{Dir: r.archive.dirNames(), Damage: []Damage{pieces[0].damage(problem)}}
}

func (r *planReader) Close() error { return r.file.Close() }
