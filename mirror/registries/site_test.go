package registries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/registrytest/profiletest"
)

// A site is a source, and a mirror in the registry that is tried.
type site struct {
	registry
	t              *testing.T
	program, dir   string
	source, mirror *rt.Server
	model          *profiletest.Server // nil for a real registry
	variables      []string
	base           digest.Digest // a layer of several images
	subject        digest.Digest // of the referrer and the signature
	referrer       digest.Digest
	copied         map[string]digest.Digest // what has been mirrored, by repository:tag
}

func newSite(t *testing.T, program string, r registry) *site {
	t.Helper()
	s := &site{registry: r, t: t, program: program, dir: rt.TempDir(t), source: rt.New(t, rt.Options{}), copied: map[string]digest.Digest{}}
	s.mirror, s.model = r.start(t)
	conf := ""
	for _, server := range []*rt.Server{s.source, s.mirror} {
		conf += fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n\n", server.Host)
	}
	s.variables = []string{"CONTAINERS_REGISTRIES_CONF=" + s.write("registries.conf", conf), "HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + s.dir}
	s.fill()
	return s
}

func (s *site) write(name, text string) string {
	s.t.Helper()
	name = filepath.Join(s.dir, name)
	fail.On(s.t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// push pushes content to the source.
func (s *site) push(repository, tag string, content rt.Content, err error) digest.Digest {
	s.t.Helper()
	fail.On(s.t, err)
	d, err := s.source.Client().Push(s.t.Context(), repository, tag, content)
	fail.On(s.t, err)
	return d
}

// fill pushes what is mirrored to the source.
func (s *site) fill() {
	s.t.Helper()
	multi, err := rt.Index("multi")
	s.push("org/multi", "v1", multi, err)
	app, err := rt.SizedImage("app", 300_000, 5000)
	s.subject = s.push("org/app", "v1", app, err)
	client, ctx := s.source.Client(), s.t.Context()
	_, err = client.PushSignature(ctx, "org/app", s.subject, ".sig", "signed")
	fail.On(s.t, err)
	subject, err := rt.Descriptor(app)
	fail.On(s.t, err)
	referrer, err := client.PushReferrer(ctx, "org/app", rt.Referrer{Subject: subject, ArtifactType: "application/vnd.example.sbom", Text: "parts"})
	fail.On(s.t, err)
	s.referrer = referrer.Digest
	layers, err := app.Layers()
	fail.On(s.t, err)
	h, err := layers[0].Digest()
	fail.On(s.t, err)
	s.base = digest.Digest(h.String())
	s.push("org/twin", "v1", app, err) // mounted
	old, err := rt.SizedImage("old", 4000)
	s.push("org/old", "v1", old, err)
	pair, err := rt.Index("old pair")
	s.push("org/oldpair", "v1", pair, err)
	before, err := rt.SizedImage("locked before", 2000)
	s.push("org/locked", profiletest.Locked, before, err)
	large, err := rt.SizedImage("large", 3<<20)
	s.push("org/large", "v1", large, err)
}

// config writes a configuration with images, and returns its file.
func (s *site) config(name string, images ...string) string {
	s.t.Helper()
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n"
	for _, image := range images {
		text += "  - name: " + s.source.Host + "/org/" + image + "\n"
	}
	return s.write(name+".yaml", text)
}

// destination is where the mirror is.
func (s *site) destination() string { return "docker://" + s.mirror.Host + s.below("") }

// below returns the place of a repository in the mirror.
func (s *site) below(name string) string {
	if s.first == "" {
		return name
	}
	if name == "" {
		return "/" + s.first
	}
	return s.first + "/" + name
}

// An outcome is how a command ended.
type outcome struct {
	code   int
	output string
}

// run runs a command. A run that does not end by itself in a minute is an error.
func (s *site) run(t *testing.T, args ...string) outcome {
	t.Helper()
	if args[0] == "mirror" {
		args = append(args, "--retry-times", "3", "--retry-delay", "10ms", "--silent-timeout", "5s")
	}
	cmd := exec.CommandContext(t.Context(), s.program, append(args, "--progress", "none")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = &out, &out, s.variables, s.dir
	fail.On(t, cmd.Start())
	timer := time.AfterFunc(time.Minute, func() {
		t.Errorf("%q does not end", args)
		_ = cmd.Process.Kill()
	})
	defer timer.Stop()
	_ = cmd.Wait() // the exit status says more
	return outcome{cmd.ProcessState.ExitCode(), out.String()}
}

// mirrored mirrors images, and remembers them if that ends with 0.
func (s *site) mirrored(t *testing.T, name string, images ...string) outcome {
	t.Helper()
	o := s.run(t, "mirror", "-c", s.config(name, images...), "--name", "site", s.destination(), "--workspace", filepath.Join(s.dir, "work"))
	if o.code == 0 {
		for _, image := range images {
			repository, tag, _ := strings.Cut(image, ":")
			p, err := s.source.Client().Pull(t.Context(), "org/"+repository, tag)
			fail.On(t, err)
			s.copied[image] = p.Digest
		}
	}
	return o
}

// complete checks that the mirror has images whole.
func (s *site) complete(t *testing.T, images ...string) {
	t.Helper()
	for _, image := range images {
		repository, tag, _ := strings.Cut(image, ":")
		p, err := s.mirror.Client().Pull(t.Context(), s.below("org/"+repository), tag)
		if err != nil || p.Digest != s.copied[image] {
			t.Errorf("%s in the mirror: %s, want %s: %v", image, p.Digest, s.copied[image], err)
		}
	}
}

// referred checks that clients find the referrer and the signature of app.
func (s *site) referred(t *testing.T) {
	t.Helper()
	client, place := s.mirror.Client(), s.below("org/app")
	list, err := client.Referrers(t.Context(), place, s.subject)
	if err != nil {
		list, err = client.ReferrersTag(t.Context(), place, s.subject)
	}
	found := false
	for _, d := range list {
		found = found || d.Digest == s.referrer && d.MediaType == ocispec.MediaTypeImageManifest
	}
	if _, pullErr := client.Pull(t.Context(), place, s.referrer.String()); err != nil || !found || pullErr != nil {
		t.Errorf("the referrer is listed: %t, %v; %v", found, err, pullErr)
	}
	if _, err := client.Pull(t.Context(), place, "sha256-"+s.subject.Encoded()+".sig"); err != nil {
		t.Errorf("the signature: %v", err)
	}
}

// uploads returns the requests that changed content of the mirror since its log was reset.
func (s *site) uploads() (all []string) {
	for _, r := range mirrortest.ContentRequests(s.mirror) {
		if r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodPatch {
			all = append(all, r.Kind()+" "+r.Path)
		}
	}
	return all
}

// tags returns the tags that the mirror lists in a repository.
func (s *site) tags(t *testing.T, repository string) []string {
	t.Helper()
	resp, err := http.Get("http://" + s.mirror.Host + "/v2/" + repository + "/tags/list")
	fail.On(t, err)
	defer resp.Body.Close()
	var list struct{ Tags []string }
	fail.On(t, json.NewDecoder(resp.Body).Decode(&list))
	return list.Tags
}
