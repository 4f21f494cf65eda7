package registries

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/registrytest/profiletest"
)

// A step is a column of the table: what is done with a mirror, after the steps before it.
type step struct {
	name   string
	about  string // for the documentation
	ends   result // at registries that follow the specification
	secret bool   // needs a registry that asks for credentials
	reads  bool   // from what the program serves; other steps write to it
	do     func(s *site, t *testing.T) outcome
	// after checks what is there. It is not called for a registry in whose table the step ends otherwise.
	after func(s *site, t *testing.T)
}

// The images of all runs.
var images = []string{"multi:v1", "app:v1", "twin:v1", "old:v1", "oldpair:v1", "locked:" + profiletest.Locked}

// kept are the images that remain after pruning.
var kept = []string{"multi:v1", "app:v1", "twin:v1", "locked:" + profiletest.Locked}

func steps() []step {
	return []step{
		{name: "create", about: "mirror to a place that does not exist", do: func(s *site, t *testing.T) outcome {
			if s.served != nil {
				s.first = "new"
				defer func() { s.first = "" }()
			}
			return mirrorAll(s, t)
		}, after: func(s *site, t *testing.T) { s.complete(t, images...) }},
		{name: "copy", reads: true, about: "mirror images for several platforms, a cosign signature and a referrer", do: func(s *site, t *testing.T) outcome {
			if s.model != nil {
				s.model.Create(s.first)
			}
			return mirrorAll(s, t)
		}, after: func(s *site, t *testing.T) {
			s.complete(t, images...)
			s.referred(t)
		}},
		{name: "again", reads: true, about: "mirror again: nothing is sent", do: func(s *site, t *testing.T) outcome {
			s.mirror.ResetLog()
			return mirrorAll(s, t)
		}, after: func(s *site, t *testing.T) {
			if sent := s.uploads(); len(sent) > 0 {
				t.Errorf("sent again: %q", sent)
			}
		}},
		{name: "resume", reads: true, about: "mirror while an upload breaks and requests are refused with 429", do: func(s *site, t *testing.T) outcome {
			s.mirror.ResetLog()
			if s.served != nil {
				s.served.Script(
					rt.Rule{Method: http.MethodGet, Path: "/large/blobs/", Nth: 1, Action: rt.Cut(1 << 20)},
					rt.Rule{Method: http.MethodGet, Path: "/large/manifests/", Nth: 1, Action: rt.Status(http.StatusTooManyRequests, "Retry-After", "0")},
				)
				defer s.served.Script()
			}
			s.mirror.Script(
				rt.Rule{Method: http.MethodPut, Path: "/large/blobs/uploads/", Nth: 1, Action: rt.CutUpload(1 << 20)},
				rt.Rule{Method: http.MethodPost, Path: "/large/blobs/uploads/", Nth: 1, Action: rt.Status(http.StatusTooManyRequests, "Retry-After", "0")},
				rt.Rule{Method: http.MethodPut, Path: "/large/manifests/", Nth: 1, Action: rt.Status(http.StatusTooManyRequests, "Retry-After", "0")},
			)
			defer s.mirror.Script()
			return s.mirrored(t, "large", append(slices.Clip(images), "large:v1")...)
		}, after: func(s *site, t *testing.T) { s.complete(t, append(slices.Clip(images), "large:v1")...) }},
		{name: "sparse", about: "mirror an index without some of its platforms", ends: result{code: 1, words: "refused the index", note: "refused"}, do: func(s *site, t *testing.T) outcome {
			sparse, err := rt.Index("sparse")
			s.push("org/sparse", "v1", sparse, err)
			return s.run(t, "mirror", "-c", s.config("sparse", "sparse:v1\n    platforms: [{os: linux, architecture: amd64}]"), "--name", "sparse", s.destination(), "--workspace", filepath.Join(s.dir, "sparse"))
		}},
		{name: "move", about: "mirror a tag that moved, to an immutable tag where registries have these", do: func(s *site, t *testing.T) outcome {
			after, err := rt.SizedImage("locked after", 2000)
			s.push("org/locked", profiletest.Locked, after, err)
			o := mirrorAll(s, t)
			before, err := rt.SizedImage("locked before", 2000)
			s.push("org/locked", profiletest.Locked, before, err)
			return o
		}, after: func(s *site, t *testing.T) { s.complete(t, images...) }},
		{name: "quota", about: "mirror when the quota is used up", do: func(s *site, t *testing.T) outcome {
			img, err := rt.SizedImage("more", 9000)
			s.push("org/more", "v1", img, err)
			if s.model != nil {
				s.model.Fill(true)
				defer s.model.Fill(false)
			}
			return s.mirrored(t, "more", append(slices.Clip(images), "more:v1")...)
		}},
		{name: "prune", about: "delete images that are no longer mirrored", do: func(s *site, t *testing.T) outcome {
			s.mirrored(t, "fewer", kept...)
			return s.run(t, "prune", "--yes", s.destination(), "--workspace", filepath.Join(s.dir, "work"))
		}, after: func(s *site, t *testing.T) {
			for _, image := range []string{"old", "oldpair"} {
				if _, err := s.mirror.Client().Pull(t.Context(), s.below("org/"+image), "v1"); err == nil {
					t.Errorf("%s is still there", image)
				}
				if tags, err := s.mirror.Client().Tags(t.Context(), s.below("org/"+image)); len(tags) > 0 {
					t.Errorf("%s still has the tags %s, %v", image, tags, err)
				}
			}
		}},
		{name: "verify", about: "verify the mirror, an hour later", do: func(s *site, t *testing.T) outcome {
			if s.model != nil {
				s.model.Age()
			}
			if s.served != nil {
				return s.run(t, "verify", "--blobs=read", "-c", s.config("all", images...), s.destination(), "--workspace", filepath.Join(s.dir, "verify"))
			}
			return s.run(t, "verify", "--blobs=read", s.destination(), "--workspace", filepath.Join(s.dir, "work"))
		}, after: func(s *site, t *testing.T) {
			s.complete(t, kept...)
			s.referred(t)
		}},
		{name: "login", secret: true, about: "log in with a wrong password, and mirror with it", ends: result{code: 12, words: "the mirror refused the password for user", note: "refused"}, do: func(s *site, t *testing.T) outcome {
			if o := s.login(t, "wrong"); o.code != 12 {
				t.Errorf("logging in ended with %d:\n%s", o.code, o.output)
			}
			return s.with(t, "wrong")
		}},
		{name: "permission", secret: true, about: "mirror with a user who may only read", ends: result{code: 12, words: "are valid and permit this", note: "refused"}, do: func(s *site, t *testing.T) outcome {
			return s.with(t, profiletest.ReadPassword)
		}},
		{name: "expiry", secret: true, about: "mirror while all tokens expire in the middle", do: func(s *site, t *testing.T) outcome {
			s.model.Expire(20)
			o := s.with(t, profiletest.Password)
			if !s.model.Renew() {
				t.Errorf("nothing expired:\n%s", o.output)
			}
			if again := s.with(t, profiletest.Password); o.code == 12 && again.code != s.ends["copy"].code {
				t.Errorf("with a new password, it ended with %d:\n%s", again.code, again.output)
			}
			return o
		}},
		{name: "list", reads: true, about: "mirror from the registry, by rules for tags on several pages", do: fromRegistry},
	}
}

// with mirrors a new image with a password.
func (s *site) with(t *testing.T, password string) outcome {
	t.Helper()
	defer s.use(profiletest.Password)
	s.use(password)
	img, err := rt.SizedImage(password, 9000)
	s.push("org/secret", "v1", img, err)
	return s.mirrored(t, "secret", append(slices.Clip(kept), "secret:v1")...)
}

func mirrorAll(s *site, t *testing.T) outcome {
	t.Helper()
	return s.mirrored(t, "all", images...)
}

// fromRegistry selects the newest of many tags of the registry.
func fromRegistry(s *site, t *testing.T) outcome {
	t.Helper()
	at, repository, tags := s.served, "org/many", s.listed
	if at == nil {
		at, repository = s.mirror, s.below("many/tags")
		tags = s.manyTags(t, at, repository)
	}
	to := rt.New(t, rt.Options{})
	config := s.write("many.yaml", "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n"+
		"  - name: "+at.Host+"/"+repository+"\n    tags: {semver: \">=1.0\", newest: 1}\n")
	o := s.run(t, "mirror", "-c", config, "docker://"+to.Host, "--workspace", filepath.Join(s.dir, "many"), "--src-tls-verify=false", "--dest-tls-verify=false")
	if o.code == 0 {
		if _, err := to.Client().Pull(t.Context(), repository, fmt.Sprintf("v1.0.%d", len(tags)-1)); err != nil {
			t.Errorf("the newest tag: %v\n%s", err, o.output)
		}
	}
	return o
}

// take takes a step, and returns how it ended.
func (s *site) take(t *testing.T, step step) string {
	t.Helper()
	want := s.end(step)
	s.written = s.served != nil && !step.reads
	if step.secret && s.model == nil {
		return "–"
	}
	o := step.do(s, t)
	if o.code != want.code || !strings.Contains(o.output, want.words) {
		t.Errorf("ended with %d, want %d and %q:\n%s", o.code, want.code, want.words, o.output)
	}
	for _, word := range []string{"panic: ", "goroutine "} {
		if strings.Contains(o.output, word) {
			t.Errorf("%q was printed:\n%s", word, o.output)
		}
	}
	if o.code == 0 && step.after != nil {
		step.after(s, t)
	}
	if t.Failed() {
		return "FAILED"
	}
	return fmt.Sprint(o.code)
}
