package trust

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
)

// VerifiedSignatures counts what a signature policy found. An image counts once, whatever its names in
// the mirror.
type VerifiedSignatures struct {
	// Policy is the file, and Digest identifies it with all keys that it names.
	Policy string        `json:"policy"`
	Digest digest.Digest `json:"digest"`
	// Signed are the signers and the images of each, sorted.
	Signed []SignedImages `json:"signed"`
	// Verified is how many images have the signatures that the policy requires, Unsigned how many it
	// accepts without verification, because it requires none, whether they are signed or not, Refused how many it does not accept.
	Verified int `json:"verified"`
	Unsigned int `json:"unsigned"`
	Refused  int `json:"refused"`
	// Built is how many images were built by Gantry before the archive was written. They have no
	// signatures of their own.
	Built int `json:"built,omitempty"`
}

// SignedImages is how many images a signer signed.
type SignedImages struct {
	plan.Signer
	Images int `json:"images"`
}

// A judge applies a signature policy to the images of a plan.
type judge struct {
	verifier *policy.Verifier
	contents *plan.Contents
	streams  int
	// sources reads images that are not in the plan: those from which images were built. Nil leaves
	// them out, where they do not exist.
	sources image.Reader
}

// A judged is one image and what was found.
type judged struct {
	name   string // of messages
	image  policy.Image
	leaves []digest.Digest // the images of an index
	// builtFrom reports whether an image of the plan was built from it.
	builtFrom bool
	signers   []policy.Signer
	// nodes reports whether clusters would find the same signatures.
	nodes bool
	err   error // why it is refused
}

// A judgement is what was found of all images of a plan.
type judgement struct {
	images map[string]*judged // by name
	built  int
}

// judge judges every image of a plan. The error means that it could not be done.
func (j *judge) judge(ctx context.Context, p *plan.Plan) (*judgement, error) {
	all, err := j.collect(ctx, p)
	if err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(max(1, j.streams))
	var mu sync.Mutex
	var first error
	for _, name := range slices.Sorted(maps.Keys(all.images)) {
		g.Go(func() error {
			d := all.images[name]
			if d.err = context.Cause(ctx); d.err == nil {
				d.err = j.image(ctx, d)
			}
			if advice.KindOf(d.err) == advice.Input {
				mu.Lock()
				first = cmp.Or(first, d.err)
				mu.Unlock()
			}
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, first
}

// collect lists what has to be judged.
func (j *judge) collect(ctx context.Context, p *plan.Plan) (*judgement, error) {
	all := &judgement{images: map[string]*judged{}}
	built := map[string]bool{}
	for _, c := range p.Catalogs {
		if c.Built {
			built[c.Name()] = true
			if err := j.addSource(ctx, all, c.Source, c.SourceDigest); err != nil {
				return nil, err
			}
		}
	}
	if g := p.GraphData; g != nil {
		for _, base := range append([]string{g.Base}, g.MoreBases...) {
			ref, err := reference.Parse(base)
			if err == nil && ref.Digest != "" {
				err = j.addSource(ctx, all, base, ref.Digest)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for i := range p.Images {
		img := &p.Images[i]
		switch {
		case IsAttachment(img):
			continue
		case WasBuilt(img, built) && (img.Kind != plan.FileImage || isFile(p, img)):
			all.built++
			continue
		}
		var leaves []digest.Digest
		err := j.contents.Walk(img.Digest, func(m *plan.Manifest) error {
			if len(m.Manifests) == 0 {
				leaves = append(leaves, m.Digest)
			}
			return nil
		}, func(plan.Blob) error { return nil })
		if err == nil && j.sources != nil {
			leaves, err = originalsOf(ctx, p, img, leaves, j.sources)
		}
		if err == nil {
			err = all.add(img.Source, j.digestOf(img), leaves)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// WasBuilt reports whether Gantry makes an image, which is at no source. built are the names of the catalogs that
// it builds.
func WasBuilt(img *plan.Image, built map[string]bool) bool {
	switch img.Kind {
	case plan.GraphImage:
		return true
	case plan.CatalogImage:
		return built[img.Catalog]
	case plan.ChartImage:
		return plan.IsChartSource(img.Source) && strings.HasPrefix(img.Repository, chart.Repository+"/")
	case plan.FileImage:
		return img.Repository == fileartifact.Repository
	}
	return false
}

// isFile reports whether the plan lists the file of an image. Then it is known to have that file as its only content.
func isFile(p *plan.Plan, img *plan.Image) bool {
	return slices.ContainsFunc(p.Files, func(f plan.File) bool { return f.Digest == img.Digest && f.Source == img.Source })
}

// digestOf returns the digest that signatures of the image may cover: at a source, the digest of the index
// that a smaller one was made from.
func (j *judge) digestOf(img *plan.Image) digest.Digest {
	if j.sources != nil && img.RewrittenFrom != "" {
		return img.RewrittenFrom
	}
	return img.Digest
}

// attachmentTag matches the tags of what cosign stores beside images.
var attachmentTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256-[0-9a-f]{64}\.(sig|att|sbom)$`) })

// IsAttachment reports whether an image is a signature or the like, which no cluster runs. The tags are
// compared, since the plan of an archive may call anything a signature.
func IsAttachment(img *plan.Image) bool {
	switch img.Kind {
	case plan.SignatureImage, plan.AttestationImage, plan.SBOMImage:
		return !slices.ContainsFunc(img.Tags, func(tag string) bool { return !attachmentTag().MatchString(tag) })
	case plan.ReferrerImage:
		return len(img.Tags) == 0
	}
	return false
}

// add adds an image of the plan.
func (a *judgement) add(source string, d digest.Digest, leaves []digest.Digest) error {
	img := policy.Image{Digest: d}
	var err error
	switch {
	case strings.HasPrefix(source, env.LayoutScheme):
		dir, _ := plan.SplitLayout(source)
		if img.Layout, err = filepath.Abs(dir); err == nil {
			if resolved, err := filepath.EvalSymlinks(img.Layout); err == nil { // it need not exist at the site
				img.Layout = resolved
			}
		}
	case strings.HasPrefix(source, dirScheme):
		return nil // a folder of files has no image
	default:
		img.Reference, err = reference.Parse(source)
	}
	if name := JudgedName(source, d); err == nil && a.images[name] == nil {
		a.images[name] = &judged{name: source, image: img, leaves: leaves}
	}
	return err
}

// dirScheme begins the sources of catalogs that are folders.
const dirScheme = "dir://"

// JudgedName identifies an image of a source with a digest.
func JudgedName(source string, d digest.Digest) string { return source + " " + d.String() }

// addSource adds an image from which another one was built.
func (j *judge) addSource(ctx context.Context, all *judgement, source string, d digest.Digest) error {
	if j.sources == nil || d == "" || strings.HasPrefix(source, dirScheme) {
		return nil
	}
	desc, raw, err := j.sources.Manifest(ctx, source, d)
	if err != nil {
		return err
	}
	leaves := []digest.Digest{d}
	if manifest.IsIndex(desc.MediaType) || manifest.IsIndex(manifest.TypeOf(raw)) {
		var index ocispec.Index
		if err := json.Unmarshal(raw, &index); err != nil {
			return fmt.Errorf("reading the index %s: %w", d, err)
		}
		leaves = leaves[:0]
		for _, m := range index.Manifests {
			leaves = append(leaves, m.Digest)
		}
	}
	if err := all.add(source, d, leaves); err != nil {
		return err
	}
	if added := all.images[JudgedName(source, d)]; added != nil {
		added.builtFrom = true
	}
	return nil
}

// image judges an image. Each image of an index has to be accepted, as nodes judge the one that they
// pull, or else the index, whose digest covers them.
func (j *judge) image(ctx context.Context, d *judged) error {
	var refused error
	d.nodes = true
	for _, leaf := range d.leaves {
		img := d.image
		img.Digest = leaf
		signers, err := j.verifier.Verify(ctx, img)
		if err != nil {
			refused = err
			break
		}
		d.add(signers)
	}
	if refused == nil && len(d.leaves) > 0 {
		return nil
	}
	d.nodes, d.signers = false, nil
	if slices.Equal(d.leaves, []digest.Digest{d.image.Digest}) || refused != nil && !errors.As(refused, new(*policy.RefusedError)) {
		return refused
	}
	signers, err := j.verifier.Verify(ctx, d.image)
	if err == nil {
		d.add(signers)
		return nil
	}
	if index, ok := errors.AsType[*policy.RefusedError](err); refused != nil && ok && len(index.Reasons) == 0 {
		return refused // it says more
	}
	return err
}

// add adds the signers of one manifest.
func (d *judged) add(signers []policy.Signer) {
	for _, s := range signers {
		d.nodes = d.nodes && s.Attachment
		if !slices.ContainsFunc(d.signers, func(have policy.Signer) bool { return have.Requirement == s.Requirement && have.Name == s.Name }) {
			d.signers = append(d.signers, s)
		}
	}
}

// planSigners returns the signers as plans list them.
func (d *judged) planSigners() []plan.Signer {
	all := elements.Map(d.signers, func(s policy.Signer) plan.Signer { return plan.Signer{Type: s.Type, Name: s.Name} })
	elements.Sort(all, plan.CompareSigners)
	return slices.Compact(all)
}

// summary counts what was found.
func (a *judgement) summary(p *policy.Policy) *VerifiedSignatures {
	s := &VerifiedSignatures{Policy: p.Name, Digest: p.Digest, Signed: []SignedImages{}, Built: a.built}
	by := map[plan.Signer]int{}
	for _, d := range a.images {
		switch {
		case d.err != nil:
			s.Refused++
		case len(d.signers) == 0:
			s.Unsigned++
		default:
			s.Verified++
		}
		if d.err == nil {
			for _, signer := range d.planSigners() {
				by[signer]++
			}
		}
	}
	for _, signer := range elements.Sorted(maps.Keys(by), plan.CompareSigners) {
		s.Signed = append(s.Signed, SignedImages{signer, by[signer]})
	}
	return s
}

// of returns what was found of an image of the plan, nil if it was not judged.
func (a *judgement) of(img *plan.Image) *judged {
	d := a.images[JudgedName(img.Source, img.Digest)]
	if d == nil && img.RewrittenFrom != "" {
		d = a.images[JudgedName(img.Source, img.RewrittenFrom)]
	}
	return d
}

// apply returns the plan without what was refused, with the signers of the rest.
func (a *judgement) apply(p *plan.Plan, of *policy.Policy) (*plan.Plan, error) {
	var lost []plan.FailedImage
	var first error
	q := *p
	q.Images = slices.Clone(p.Images)
	q.SignaturePolicy = of.Digest
	for i := range q.Images {
		img := &q.Images[i]
		img.Signers = nil
		d := a.of(img)
		if d == nil {
			continue
		}
		if d.err == nil {
			img.Signers = d.planSigners()
			continue
		}
		if img.Kind == plan.CatalogImage || img.Kind == plan.ReleaseImage {
			return nil, fmt.Errorf("reading %s image %s: %w", img.Kind, img.Source, d.err)
		}
		first = cmp.Or(first, d.err)
		// Like any image that is missing, it does not decide the exit status.
		lost = append(lost, plan.FailedImage{Source: img.Source, Repository: img.Repository, Err: errors.New(d.err.Error())})
	}
	for _, name := range slices.Sorted(maps.Keys(a.images)) {
		if d := a.images[name]; d.err != nil && d.builtFrom {
			return nil, fmt.Errorf("reading the image %s: %w", d.name, d.err)
		}
	}
	if len(lost) == 0 {
		return &q, q.Check()
	}
	if !slices.ContainsFunc(q.Images, func(i plan.Image) bool { d := a.of(&i); return !IsAttachment(&i) && (d == nil || d.err == nil) }) {
		return nil, fmt.Errorf("none of %d images is accepted; the first: %w", len(lost), first)
	}
	return q.Without(lost)
}
