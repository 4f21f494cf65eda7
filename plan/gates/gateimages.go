package gates

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/gates/gate"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// GateImage is what a gate reads about an image, as JSON. Its argument is Reference.
type GateImage struct {
	Version int `json:"version"`
	// Image is the source as in the plan, and Reference the manifest at that source, by digest.
	Image     string        `json:"image"`
	Reference string        `json:"reference"`
	Digest    digest.Digest `json:"digest"`
	// Index is the digest of the index that lists the manifest, and Platform its platform there
	// ("linux/arm64"). They are empty for an image without an index.
	Index    digest.Digest  `json:"index,omitempty"`
	Platform string         `json:"platform,omitempty"`
	Kind     plan.ImageKind `json:"kind"`
	// Size is the size of the manifest and its blobs in bytes.
	Size int64 `json:"size"`
	// Repository and Tags are those in the mirror.
	Repository string        `json:"repository"`
	Tags       []string      `json:"tags"`
	Reasons    []plan.Reason `json:"because"`
	Signers    []plan.Signer `json:"signers,omitempty"`
}

// A GateResult is what a gate decided about the images of a plan. Images of several platforms count once for each.
type GateResult struct {
	Program string `json:"program"`
	// Accepted and Refused are how many images the gate accepted and refused; Failed is how many it could not
	// decide about. Remembered is how many of the accepted ones it was not asked about again.
	Accepted   int `json:"accepted"`
	Refused    int `json:"refused"`
	Failed     int `json:"failed"`
	Remembered int `json:"remembered,omitempty"`
	// Answers are those about images that are not mirrored, by reference.
	Answers []GateAnswer `json:"answers,omitempty"`
}

// A GateAnswer is an answer about an image.
type GateAnswer struct {
	Image     string        `json:"image"`
	Reference string        `json:"reference"`
	Digest    digest.Digest `json:"digest"`
	Platform  string        `json:"platform,omitempty"`
	Accepted  bool          `json:"accepted"`
	// Reason is what the program printed.
	Reason string `json:"reason,omitempty"`
	// Error is why the program could not decide; "" if it did.
	Error string `json:"error,omitempty"`
}

// A gateQuestion is a manifest that a gate is asked about.
type gateQuestion struct {
	GateImage
	answer     gate.Answer
	err        error
	remembered bool
	planned    digest.Digest // of the image in the plan
}

// refusal returns why the image is not mirrored, or nil.
func (q *gateQuestion) refusal(program string) error {
	of := q.Digest.String()
	if q.Platform != "" {
		of = q.Platform + " (" + of + ")"
	}
	switch {
	case q.err != nil:
		return fmt.Errorf("the gate could not decide about %s: %w", of, q.err)
	case !q.answer.Accepted && q.answer.Reason == "":
		return fmt.Errorf("the gate %s refuses %s", program, of)
	case !q.answer.Accepted:
		return fmt.Errorf("the gate %s refuses %s: %s", program, of, q.answer.Reason)
	}
	return nil
}

// PassGate asks the gate about the images of a plan, and returns the plan of those that it accepts. The others are
// missing. Without a gate, it returns the plan.
func PassGate(ctx context.Context, s *workspace.Session, g *Programs, p *plan.Plan) (*plan.Plan, error) {
	if g == nil || g.image == nil {
		return p, nil
	}
	questions, err := gateQuestions(ctx, p, s.Sources.Origin.Planning())
	if err != nil {
		return nil, err
	}
	memory, err := readMemory(s, g)
	if err != nil {
		return nil, err
	}
	s.Env.Noticef("asking %s about %s", g.image.Path(), env.Number(len(questions), "image", "images"))
	var done atomic.Int64
	stop := env.Show(s.Env.Observer, "asking the gate", func() progress.Reading {
		return progress.Reading{Images: int64(len(questions)), ImagesDone: done.Load()}
	})
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all errgroup.Group
	all.SetLimit(g.GateParallel)
	for _, q := range questions {
		if q.remembered = memory.has(q.Image, q.Digest); q.remembered {
			q.answer.Accepted = true
			done.Add(1)
			continue
		}
		all.Go(func() error {
			defer done.Add(1)
			if err := context.Cause(asking); err != nil {
				return err
			}
			var failed *gate.FailedError
			if q.answer, q.err = q.ask(asking, g.image); q.err != nil && !errors.As(q.err, &failed) {
				cancel(q.err) // it cannot be run, or the run ends
				return q.err
			}
			return nil
		})
	}
	err = all.Wait()
	stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("Options.Gate: %w", err)
	}
	result := gateResult(g.image.Path(), questions)
	g.result = result
	if result.Failed > 0 && result.Failed == len(questions) {
		return nil, fmt.Errorf("Options.Gate: the program could decide about none of %s; the first: %w", env.Number(len(questions), "image", "images"), questions[0].err)
	}
	if err := memory.keep(questions); err != nil {
		return nil, err
	}
	return withoutRefused(p, g.image.Path(), questions)
}

// ask asks a program about an image.
func (q *gateQuestion) ask(ctx context.Context, program *gate.Program) (gate.Answer, error) {
	text, err := json.Marshal(q.GateImage)
	if err != nil {
		return gate.Answer{}, err
	}
	return program.Ask(ctx, gate.Question{Subject: q.Reference, Variables: []string{"GANTRY_GATE=image", "GANTRY_PLATFORM=" + q.Platform}, Input: bytes.NewReader(append(text, '\n'))})
}

// gateResult counts the answers.
func gateResult(program string, questions []*gateQuestion) *GateResult {
	r := &GateResult{Program: program}
	for _, q := range questions {
		a := GateAnswer{Image: q.Image, Reference: q.Reference, Digest: q.Digest, Platform: q.Platform, Accepted: q.answer.Accepted, Reason: q.answer.Reason}
		switch {
		case q.err != nil:
			a.Error = q.err.Error()
			r.Failed++
		case !a.Accepted:
			r.Refused++
		default:
			r.Accepted++
			if q.remembered {
				r.Remembered++
			}
			continue
		}
		r.Answers = append(r.Answers, a)
	}
	elements.Sort(r.Answers, func(a, b GateAnswer) int { return strings.Compare(a.Reference, b.Reference) })
	return r
}

// withoutRefused returns a plan without the images that a gate does not accept.
func withoutRefused(p *plan.Plan, program string, questions []*gateQuestion) (*plan.Plan, error) {
	refused := map[string]error{} // by image and root
	for _, q := range questions {
		key := trust.JudgedName(q.Image, q.planned)
		if err := q.refusal(program); err != nil && refused[key] == nil {
			refused[key] = err
		}
	}
	var lost []plan.FailedImage
	for i := range p.Images {
		img := &p.Images[i]
		if err := refused[trust.JudgedName(img.Source, img.Digest)]; err != nil && !trust.IsAttachment(img) {
			lost = append(lost, plan.FailedImage{Source: img.Source, Repository: img.Repository, Err: err})
		}
	}
	if len(lost) == 0 {
		return p, nil
	}
	return p.Without(lost)
}

// gateQuestions returns what a gate is asked about: each manifest of each image that is at a source. Indexes are read
// through images, for the platforms.
func gateQuestions(ctx context.Context, p *plan.Plan, images image.Reader) ([]*gateQuestion, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	built := map[string]bool{}
	for _, c := range p.Catalogs {
		built[c.Name()] = c.Built
	}
	var all []*gateQuestion
	asked := map[string]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		key := trust.JudgedName(img.Source, img.Digest)
		if asked[key] || trust.IsAttachment(img) || trust.WasBuilt(img, built) || img.Kind == plan.ChartImage || img.Kind == plan.FileImage {
			continue
		}
		asked[key] = true
		from, err := build.Originals(ctx, p, img, images)
		if err != nil {
			return nil, err
		}
		index := img.Digest
		if len(from) > 0 {
			index = img.RewrittenFrom
		}
		platforms := map[digest.Digest]string{}
		first, blobs := len(all), int64(0)
		err = contents.Walk(img.Digest, func(m *plan.Manifest) error {
			if len(m.Manifests) > 0 {
				return readPlatforms(ctx, images, img, m.Digest, platforms)
			}
			asked := cmp.Or(from[m.Digest], m.Digest)
			q := &gateQuestion{planned: img.Digest, GateImage: GateImage{
				Version: 1, Image: img.Source, Reference: gateReference(img.Source, asked), Digest: asked, Kind: img.Kind,
				Size: m.Size + blobs, Repository: img.Repository, Tags: img.Tags, Reasons: img.Reasons, Signers: img.Signers,
			}}
			if m.Digest != img.Digest {
				q.Index = index
			}
			all, blobs = append(all, q), 0
			return nil
		}, func(b plan.Blob) error {
			blobs += b.Size // the manifest follows
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, q := range all[first:] {
			q.Platform = platforms[q.Digest]
		}
	}
	return all, nil
}

// readPlatforms adds the platforms that an index lists. What was rewritten is read where it was made from.
func readPlatforms(ctx context.Context, images image.Reader, img *plan.Image, d digest.Digest, platforms map[digest.Digest]string) error {
	if d == img.Digest && img.RewrittenFrom != "" {
		d = img.RewrittenFrom
	}
	_, raw, err := images.Manifest(ctx, img.Source, d)
	if err != nil {
		return err
	}
	var index ocispec.Index
	if err := json.Unmarshal(raw, &index); err != nil {
		return fmt.Errorf("reading the index %s: %w", d, err)
	}
	for _, m := range index.Manifests {
		if f := m.Platform; f != nil && f.OS != "" {
			platforms[m.Digest] = strings.TrimSuffix(f.OS+"/"+f.Architecture+"/"+f.Variant, "/")
		}
	}
	return nil
}

// gateReference returns a manifest of a source, by digest.
func gateReference(source string, d digest.Digest) string {
	if strings.HasPrefix(source, env.LayoutScheme) {
		dir, _ := plan.SplitLayout(source)
		return env.LayoutScheme + dir + "@" + d.String()
	}
	if ref, err := reference.Parse(source); err == nil {
		return ref.Repository().WithDigest(d).String()
	}
	return source + "@" + d.String()
}
