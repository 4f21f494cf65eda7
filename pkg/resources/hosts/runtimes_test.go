package hosts

import (
	"encoding/base64"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// The types here read the files as the runtimes do. They are written from the documented rules and share no
// code with the package.

// A request is one that a runtime sends: to a mirror, or to the registry itself.
type request struct{ scheme, host, repository string }

// A runtime returns the requests for an image, in order.
type runtime interface {
	requests(host, path string, byDigest bool) []request
}

func readFiles(files []resources.File) map[string][]byte {
	texts := map[string][]byte{}
	for _, f := range files {
		texts[f.Name] = f.Text
	}
	return texts
}

// podman follows containers-registries.conf(5).
type podman struct {
	Registry []struct {
		Prefix, Location  string
		Blocked, Insecure bool
		Mirror            []struct {
			Location string
			Pull     string `toml:"pull-from-mirror"`
			Insecure bool
		}
	}
}

func newPodman(t *testing.T, text []byte) *podman {
	t.Helper()
	p := &podman{}
	d := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		t.Fatalf("registries.conf: %v\n%s", err, text)
	}
	return p
}

// find returns the table with the longest prefix of name, -1 if there is none.
func (p *podman) find(name string) int {
	best := -1
	for i, r := range p.Registry {
		if (name == r.Prefix || strings.HasPrefix(name, r.Prefix+"/")) && (best < 0 || len(r.Prefix) > len(p.Registry[best].Prefix)) {
			best = i
		}
	}
	return best
}

func (p *podman) requests(host, repository string, byDigest bool) []request {
	name := host + "/" + repository
	locations := []string{}
	insecure := map[string]bool{}
	if i := p.find(name); i >= 0 {
		for _, m := range p.Registry[i].Mirror {
			if m.Pull == "" || m.Pull == "all" || (m.Pull == "digest-only") == byDigest {
				location := m.Location + strings.TrimPrefix(name, p.Registry[i].Prefix)
				locations, insecure[location] = append(locations, location), m.Insecure
			}
		}
		name = p.Registry[i].Location + strings.TrimPrefix(name, p.Registry[i].Prefix)
	}
	var all []request
	for _, l := range append(locations, name) {
		if i := p.find(l); i >= 0 && p.Registry[i].Blocked {
			continue
		}
		host, repository, _ := strings.Cut(l, "/")
		scheme := "https"
		if insecure[l] {
			scheme = "http"
		}
		all = append(all, request{scheme, host, repository})
	}
	return all
}

// containerd follows its docs/hosts.md and core/remotes/docker/config/hosts.go.
type containerd struct {
	t     *testing.T
	files map[string][]byte // below certs.d
}

type hostConfig struct {
	Capabilities []string
	CA           string `toml:"ca"`
	OverridePath bool   `toml:"override_path"`
	SkipVerify   bool   `toml:"skip_verify"`
}

func newContainerd(t *testing.T, texts map[string][]byte) *containerd {
	c := &containerd{t, map[string][]byte{}}
	for name, text := range texts {
		if below, ok := strings.CutPrefix(name, "containerd/certs.d/"); ok {
			c.files[below] = text
		}
	}
	return c
}

func (c *containerd) requests(host, repository string, byDigest bool) []request {
	c.t.Helper()
	folders := []string{host}
	if i := strings.LastIndex(host, ":"); i > 0 {
		folders = []string{host[:i] + "_" + host[i+1:] + "_", host}
	}
	own := request{"https", host, repository}
	for _, folder := range folders {
		text, ok := c.files[folder+"/hosts.toml"]
		if !ok {
			continue
		}
		var file struct {
			hostConfig
			Server string
			Host   map[string]hostConfig
		}
		if err := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields().Decode(&file); err != nil {
			c.t.Fatalf("%s: %v\n%s", folder, err, text)
		}
		var all []request
		add := func(address string, config hostConfig) {
			u, err := url.Parse(address)
			fail.On(c.t, err)
			root := path.Clean("/" + u.Path)
			if u.Path == "" || !strings.HasSuffix(root, "/v2") && !config.OverridePath {
				root = path.Join(root, "v2")
			}
			if config.CA != "" && c.files[path.Join(folder, config.CA)] == nil {
				c.t.Errorf("%s: there is no file %s", folder, config.CA)
			}
			below, ok := strings.CutPrefix(path.Join(root, repository), "/v2/")
			if !ok {
				c.t.Errorf("%s: %s is outside of the API", folder, address)
			}
			need := "resolve"
			if byDigest {
				need = "pull"
			}
			if len(config.Capabilities) == 0 || slices.Contains(config.Capabilities, need) {
				all = append(all, request{u.Scheme, u.Host, below})
			}
		}
		// The order of the tables in the file is the order of requests.
		for line := range strings.SplitSeq(string(text), "\n") {
			if address, ok := strings.CutPrefix(line, `[host."`); ok {
				address = strings.TrimSuffix(address, `"]`)
				add(address, file.Host[address])
			}
		}
		if file.Server != "" {
			add(file.Server, file.hostConfig)
			return all
		}
		return append(all, own)
	}
	return []request{own}
}

// k3s follows https://docs.k3s.io/installation/private-registry, and withRewritesFromHost in the resolver of its
// containerd: the first rule that changes the name is used, and their order is random.
type k3s struct {
	t       *testing.T
	blocked bool
	Mirrors map[string]struct {
		Endpoint []string
		Rewrite  map[string]string
	}
	Configs map[string]struct {
		TLS struct {
			CA string `yaml:"ca_file"`
		}
	}
	expressions map[string]*regexp.Regexp
}

func newK3s(t *testing.T, texts map[string][]byte, name string) *k3s {
	t.Helper()
	k := &k3s{t: t, expressions: map[string]*regexp.Regexp{}}
	_, k.blocked = texts[name+"/config.yaml.d/mirror.yaml"]
	fail.On(t, yaml.Unmarshal(texts[name+"/registries.yaml"], k))
	for _, m := range k.Mirrors {
		for pattern := range m.Rewrite {
			if strings.ContainsAny(pattern, `\"`) {
				t.Errorf("rule %q: K3s copies it into a string of TOML as it is", pattern)
			}
			k.expressions[pattern] = regexp.MustCompile(pattern)
		}
	}
	return k
}

func (k *k3s) requests(host, repository string, _ bool) []request {
	k.t.Helper()
	var all []request
	m := k.Mirrors[host]
	for _, e := range m.Endpoint {
		u, err := url.Parse(e)
		if err != nil || u.Path != "" {
			k.t.Fatalf("endpoint %s: %v", e, err)
		}
		name, changed := repository, 0
		for pattern, replacement := range m.Rewrite {
			if to := k.expressions[pattern].ReplaceAllString(repository, replacement); to != repository {
				name = to
				changed++
			}
		}
		if changed > 1 {
			k.t.Errorf("%d rules rewrite %s", changed, repository)
		}
		all = append(all, request{u.Scheme, u.Host, name})
	}
	if k.blocked && len(m.Endpoint) > 0 {
		return all
	}
	return append(all, request{"https", host, repository})
}

// talos follows internal/pkg/containers/cri/containerd/hosts.go of Talos.
type talos map[string]talosRegistry

type talosRegistry struct {
	Endpoints    []string
	SkipFallback bool
}

func newTalos(t *testing.T, texts map[string][]byte) (old, documents talos, ca []string) {
	t.Helper()
	old, documents = talos{}, talos{}
	var patch struct {
		Machine struct {
			Registries struct {
				Mirrors map[string]struct {
					Endpoints                  []string
					OverridePath, SkipFallback bool
				} `yaml:"mirrors"`
				Config map[string]struct{ TLS struct{ CA string } }
			}
		}
	}
	read := func(text []byte, v any) {
		text = []byte(strings.NewReplacer("overridePath", "overridepath", "skipFallback", "skipfallback").Replace(string(text)))
		fail.On(t, yaml.Unmarshal(text, v))
	}
	read(texts["talos/machine-config-patch.yaml"], &patch)
	for host, m := range patch.Machine.Registries.Mirrors {
		if !m.OverridePath {
			t.Errorf("%s: the path is not overridden", host)
		}
		old[host] = talosRegistry{m.Endpoints, m.SkipFallback}
	}
	for _, c := range patch.Machine.Registries.Config {
		text, err := base64.StdEncoding.DecodeString(c.TLS.CA)
		if err != nil {
			t.Error(err)
		}
		ca = append(ca, string(text))
	}
	for _, text := range strings.Split(string(texts["talos/registry-documents.yaml"]), "\n---\n")[1:] {
		var d struct {
			Kind, Name   string
			SkipFallback bool
			CA           string
			Endpoints    []struct {
				URL          string
				OverridePath bool
			}
		}
		read([]byte(text), &d)
		switch d.Kind {
		case "RegistryMirrorConfig":
			r := talosRegistry{SkipFallback: d.SkipFallback}
			for _, e := range d.Endpoints {
				if !e.OverridePath {
					t.Errorf("%s: the path is not overridden", d.Name)
				}
				r.Endpoints = append(r.Endpoints, e.URL)
			}
			documents[d.Name] = r
		case "RegistryTLSConfig":
			ca = append(ca, d.CA)
		default:
			t.Errorf("unknown kind %q", d.Kind)
		}
	}
	return old, documents, ca
}

func (o talos) requests(host, repository string, _ bool) []request {
	var all []request
	for _, e := range o[host].Endpoints {
		scheme, rest, _ := strings.Cut(e, "://")
		host, prefix, _ := strings.Cut(rest, "/")
		below, ok := strings.CutPrefix(path.Join(prefix, repository), "v2/")
		if ok {
			all = append(all, request{scheme, host, below})
		}
	}
	if o[host].SkipFallback {
		return all
	}
	return append(all, request{"https", host, repository})
}
