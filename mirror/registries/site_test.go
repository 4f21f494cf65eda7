package registries

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/elements"
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
	served         *rt.Server          // with the images of the source; nil unless the registry is what the program serves
	listed         []string            // its tags for the step list
	written        bool                // the step writes to served
	model          *profiletest.Server // nil for a real registry
	variables      []string
	input          string        // of commands
	base           digest.Digest // a layer of several images
	subject        digest.Digest // of the referrer and the signature
	referrer       digest.Digest
	copied         map[string]digest.Digest // what has been mirrored, by repository:tag
}

func newSite(t *testing.T, program string, r registry) *site {
	t.Helper()
	s := &site{registry: r, t: t, program: program, dir: rt.TempDir(t), source: rt.New(t, rt.Options{}), copied: map[string]digest.Digest{}}
	s.mirror, s.model = r.start(t)
	s.variables = []string{"CONTAINERS_REGISTRIES_CONF=" + filepath.Join(s.dir, "registries.conf"), "HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + s.dir}
	s.insecure(s.source, s.mirror)
	if s.model != nil {
		s.mirror.Username, s.mirror.Password = s.model.Protect(), profiletest.Password
		s.variables = append(s.variables, "REGISTRY_AUTH_FILE="+filepath.Join(s.dir, "auth.json"))
		if o := s.login(t, profiletest.Password); o.code != 0 {
			t.Fatalf("logging in ended with %d:\n%s", o.code, o.output)
		}
	}
	s.fill()
	if r.served {
		s.serve()
	}
	return s
}

// insecure lets the program use registries without TLS.
func (s *site) insecure(servers ...*rt.Server) {
	s.t.Helper()
	conf := ""
	for _, server := range servers {
		conf += fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n\n", server.Host)
	}
	s.write("registries.conf", conf)
}

// serve serves an archive with all images of the source.
func (s *site) serve() {
	s.t.Helper()
	list := append(slices.Clip(images), "large:v1")
	s.listed = s.manyTags(s.t, s.source, "org/many")
	list = append(list, elements.Map(s.listed, func(tag string) string { return "many:" + tag })...)
	disk := "file://" + filepath.Join(s.dir, "disk")
	if o := s.run(s.t, "mirror", "-c", s.config("served", list...), disk, "--workspace", filepath.Join(s.dir, "served")); o.code != 0 {
		s.t.Fatalf("ended with %d:\n%s", o.code, o.output)
	}
	cmd := exec.CommandContext(s.t.Context(), s.program, "archive", "serve", disk, "--listen", "127.0.0.1:0")
	cmd.Env = s.variables
	s.served = mirrortest.ServeArchive(s.t, cmd)
	s.insecure(s.source, s.mirror, s.served)
}

// manyTags pushes tags of an image for more than a page of a list, and returns them.
func (s *site) manyTags(t *testing.T, to *rt.Server, repository string) (tags []string) {
	t.Helper()
	img, err := rt.SizedImage("listed", 500)
	fail.On(t, err)
	raw, err := img.RawManifest()
	fail.On(t, err)
	many := 1100
	if s.profile == nil && mirrortest.Short(t) {
		many = 50
	}
	_, err = to.Client().Push(t.Context(), repository, "", img)
	fail.On(t, err)
	for i := range many {
		tags = append(tags, fmt.Sprintf("v1.0.%d", i))
		_, err := to.Client().PushRaw(t.Context(), repository, tags[i], ocispec.MediaTypeImageManifest, raw)
		fail.On(t, err)
	}
	return tags
}

// from is where images are mirrored from.
func (s *site) from() *rt.Server {
	if s.served == nil || s.written {
		return s.source
	}
	return s.served
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
		text += "  - name: " + s.from().Host + "/org/" + image + "\n"
	}
	return s.write(name+".yaml", text)
}

// destination is where the mirror is.
func (s *site) destination() string {
	at := s.mirror
	if s.written {
		at = s.served
	}
	return "docker://" + at.Host + s.below("")
}

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

// login logs in to the mirror with a password.
func (s *site) login(t *testing.T, password string) outcome {
	t.Helper()
	s.input = password
	defer func() { s.input = "" }()
	return s.run(t, "registry", "login", "-u", s.mirror.Username, "--password-stdin", "--plain-http", s.mirror.Host)
}

// use writes a password for the mirror into the auth file without trying it.
func (s *site) use(password string) {
	s.t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(s.mirror.Username + ":" + password))
	s.write("auth.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, s.mirror.Host, auth))
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = strings.NewReader(s.input), &out, &out, s.variables, s.dir
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
