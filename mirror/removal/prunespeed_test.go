package removal_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Ten thousand images in a hundred repositories. Nine of ten have the tag of their digest, as most images of catalogs do.
const (
	prunedRepositories = 100
	prunedPerRepo      = 100
)

// prunedPlan is the plan of ten thousand images, and the text of their manifests.
func prunedPlan(t *testing.T) (*plan.Plan, map[digest.Digest]string) {
	t.Helper()
	empty := ocispec.DescriptorEmptyJSON
	p := &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "large", Blobs: []plan.Blob{{Digest: empty.Digest, Size: empty.Size}}}
	texts := map[digest.Digest]string{}
	for i := range prunedRepositories * prunedPerRepo {
		text := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":%q,"digest":%q,"size":2},"layers":[],"annotations":{"n":"%d"}}`,
			ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig, empty.Digest, i)
		d := digest.FromString(text)
		texts[d] = text
		p.Manifests = append(p.Manifests, plan.Manifest{Digest: d, MediaType: ocispec.MediaTypeImageManifest, Size: int64(len(text)), Blobs: []digest.Digest{empty.Digest}})
		repository := fmt.Sprintf("team/image%02d", i%prunedRepositories)
		img := plan.Image{
			Source: "src.example.com/" + repository + "@" + d.String(), Kind: plan.AdditionalImage, Digest: d, Repository: repository,
			Tags: []string{plan.DigestTag(d)}, Size: int64(len(text)) + 2, Reasons: []plan.Reason{{List: "additionalImages"}},
		}
		if i%10 == 0 {
			tag := fmt.Sprintf("v1.%d", i/prunedRepositories)
			img.Source, img.Tags = "src.example.com/"+repository+":"+tag, []string{tag}
		}
		p.Images = append(p.Images, img)
	}
	slices.SortFunc(p.Images, func(a, b plan.Image) int {
		return strings.Compare(a.Repository+"\x00"+a.Source, b.Repository+"\x00"+b.Source)
	})
	slices.SortFunc(p.Manifests, func(a, b plan.Manifest) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	p.Totals = p.Count()
	fail.On(t, p.Check())
	return p, texts
}

// TestPruneTenThousand prunes ten thousand images, and compares the time and the requests with those of their deletions
// alone, at registries with and without the referrers API. GANTRY_TEST_PRUNE=5ms delays each response as a network does,
// and GANTRY_TEST_PRUNE=distribution measures CNCF distribution.
func TestPruneTenThousand(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	p, texts := prunedPlan(t)
	at, delay := os.Getenv("GANTRY_TEST_PRUNE"), time.Duration(0)
	if at != "" && at != "distribution" {
		var err error
		if delay, err = time.ParseDuration(at); err != nil {
			t.Fatal(err)
		}
	}
	for name, api := range map[string]bool{"with referrers API": true, "without referrers API": false} {
		t.Run(name, func(t *testing.T) {
			s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
			switch {
			case at != "distribution":
				s.Mirror = registrytest.New(t, registrytest.Options{})
			case api:
				t.Skip("CNCF distribution has no referrers API")
			default:
				s.Mirror = registrytest.Start(t, registrytest.Options{})
			}
			s.Env = s.NewEnv()
			var rules []registrytest.Rule
			if !api { // like CNCF distribution
				rules = append(rules, registrytest.Rule{Path: "/referrers/", Action: registrytest.Refuse(http.StatusNotFound, "NOT_FOUND")})
			}
			if delay > 0 {
				rules = append(rules, registrytest.Rule{Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
					<-time.After(delay)
					next.ServeHTTP(rw, r)
				}})
			}
			pruneTenThousand(s, p, texts, api, rules)
		})
	}
}

func pruneTenThousand(s *mirrortest.Site, p *plan.Plan, texts map[digest.Digest]string, api bool, rules []registrytest.Rule) {
	s.T.Helper()
	kept, err := p.OnlyImages(p.Images[:10])
	if err != nil {
		s.T.Fatal(err)
	}
	pushPruned(s, "site", p, texts)
	pushPruned(s, "floor", p, texts)
	s.Record("site", "large", p, kept)
	s.Mirror.Script(rules...)
	rest := p.Images[len(kept.Images):]
	floor := deleteAll(s, "floor", rest)
	s.Mirror.ResetLog()
	began := time.Now()
	pruned(s)
	s.T.Logf("the plan took %.2fs: %v", time.Since(began).Seconds(), s.Mirror.Requests())
	s.Mirror.ResetLog()
	began = time.Now()
	pruned(s, yes)
	took := time.Since(began)
	requests := s.Mirror.Requests()
	s.T.Logf("prune took %.2fs, %.2f x the deletions alone, which took %.2fs: %v", took.Seconds(), took.Seconds()/floor.Seconds(), floor.Seconds(), requests)
	others := -requests["DELETE manifest"]
	for _, n := range requests {
		others += n
	}
	most := len(rest) + len(rest)/10 + 2*prunedRepositories // each tag is resolved before its deletion
	if api {
		most += len(rest)
	}
	if n := requests["DELETE manifest"]; n < len(rest) || n > len(rest)+10 || others > most {
		s.T.Errorf("prune made %d deletions and %d other requests, for %d images", n, others, len(rest))
	}
	if took > 3*floor+10*time.Second { // other tests run at the same time
		s.T.Errorf("prune took %s, and the deletions alone %s", took, floor)
	}
	for i := range p.Images {
		img := &p.Images[i]
		if wanted := i < len(kept.Images); i%10 == 0 || wanted {
			if _, err := s.Mirror.Client().Pull(s.T.Context(), "site/"+img.Repository, img.Digest.String()); (err == nil) != wanted {
				s.T.Errorf("%s: %v", img.Source, err)
			}
		}
	}
}

// each calls f for 0 to n-1, eight at the same time.
func each(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	fail.On(t, g.Wait())
}

// pushPruned pushes the images of a plan below a prefix.
func pushPruned(s *mirrortest.Site, prefix string, p *plan.Plan, texts map[digest.Digest]string) {
	s.T.Helper()
	client := s.Mirror.Client()
	each(s.T, prunedRepositories, func(i int) error { // images are sorted by repository
		blobs := [][]byte{[]byte("{}")}
		for _, img := range p.Images[i*prunedPerRepo : (i+1)*prunedPerRepo] {
			if _, err := client.PushRaw(s.T.Context(), prefix+"/"+img.Repository, img.Tags[0], ocispec.MediaTypeImageManifest, []byte(texts[img.Digest]), blobs...); err != nil {
				return err
			}
			blobs = nil // the repository has it now
		}
		return nil
	})
}

// deleteAll deletes images below a prefix, eight at the same time, and returns how long that took.
func deleteAll(s *mirrortest.Site, prefix string, images []plan.Image) time.Duration {
	s.T.Helper()
	began := time.Now()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	each(s.T, len(images), func(i int) error {
		r, err := http.NewRequestWithContext(s.T.Context(), http.MethodDelete, s.Mirror.URL()+"/v2/"+prefix+"/"+images[i].Repository+"/manifests/"+images[i].Digest.String(), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusAccepted {
			err = fmt.Errorf("DELETE %s: %s", r.URL, response.Status)
		}
		return errors.Join(err, response.Body.Close())
	})
	return time.Since(began)
}
