package search_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/search"
)

// otter is a catalog with one bundle, which names an image.
const otter = `{"schema":"olm.package","name":"otter","defaultChannel":"stable"}
{"schema":"olm.channel","package":"otter","name":"stable","entries":[{"name":"otter.v1.0.0"}]}
{"schema":"olm.bundle","name":"otter.v1.0.0","package":"otter","image":"registry.example.com/zoo/bundle:v1",
"properties":[{"type":"olm.package","value":{"packageName":"otter","version":"1.0.0"}}],
"relatedImages":[{"name":"operand","image":"quay.io/zoo/operand:v1"}]}
`

// filled returns a mirror that another program filled: content below "site", a broken catalog below "broken", and one catalog
// without a prefix.
func filled(t *testing.T) *mirrortest.Site {
	t.Helper()
	s := &mirrortest.Site{T: t, Dir: t.TempDir(), Mirror: registrytest.New(t, registrytest.Options{})}
	s.Vars = map[string]string{"CONTAINERS_REGISTRIES_CONF": s.Write("registries.conf", ""), "HOME": t.TempDir()}
	s.Env = s.NewEnv()
	image, imageErr := registrytest.SizedImage("app", 200)
	bundle, bundleErr := registrytest.BundleImage("otter", "1.0.0")
	zoo, zooErr := registrytest.CatalogImage(fstest.MapFS{"otter/catalog.json": {Data: []byte(otter)}})
	broken, brokenErr := registrytest.CatalogImage(fstest.MapFS{"otter/catalog.json": {Data: []byte(otter[:100])}})
	for _, err := range []error{imageErr, bundleErr, zooErr, brokenErr} {
		fail.On(t, err)
	}
	byDigest := "sha256-" + strings.Repeat("0", 64)
	for name, content := range map[string]registrytest.Content{
		"site/zoo/index:v4.20": zoo, "site/zoo/index:v4.21": zoo, "site/zoo/index:" + byDigest + ".sig": image,
		"site/zoo/operand:v1": image, "site/zoo/bundle:v1": bundle,
		"site/tools/app:1": image, "site/tools/pinned:" + byDigest: image,
		"site/openshift/release-images:4.20.5-x86_64": image, "site/openshift/release:4.20.5-x86_64-etcd": image, "site/openshift/graph-image:latest": image,
		"site/gantry-image-sets:a": image, "site-2/other:1": image, "broken/zoo/index:v4.20": broken,
		"redhat/redhat-operator-index:v4.20": zoo,
	} {
		repository, tag, _ := strings.Cut(name, ":")
		_, err := s.Mirror.Client().Push(t.Context(), repository, tag, content)
		fail.On(t, err)
	}
	return s
}

// TestMirror finds what a mirror has, with a registry that lists its repositories and with one that does not.
func TestMirror(t *testing.T) {
	t.Parallel()
	s := filled(t)
	catalog := func(prefix, path, tag string) draft.MirroredCatalog {
		return draft.MirroredCatalog{Path: path, Image: strings.TrimPrefix(s.Mirror.Host+prefix+"/"+path+":"+tag, "/")}
	}
	lists := registrytest.Rule{Path: "/v2/_catalog", Action: registrytest.Status(http.StatusNotFound)}
	deleted := registrytest.Rule{Path: "/site/zoo/index/tags/list", Action: registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN")}
	for _, tc := range []struct {
		name, prefix string
		more         []string
		rules        []registrytest.Rule
		want         draft.Mirror
		warning      string
	}{
		{"listed", "/site", nil, nil, draft.Mirror{
			Catalogs: []draft.MirroredCatalog{catalog("/site", "zoo/index", "v4.20"), catalog("/site", "zoo/index", "v4.21")},
			Releases: []string{"4.20.5-x86_64"}, Graph: true, Others: []string{"tools/app", "tools/pinned"},
		}, ""},
		{"a path that the user names, too", "/site", []string{"zoo/absent"}, nil, draft.Mirror{
			Catalogs: []draft.MirroredCatalog{catalog("/site", "zoo/index", "v4.20"), catalog("/site", "zoo/index", "v4.21")},
			Releases: []string{"4.20.5-x86_64"}, Graph: true, Others: []string{"tools/app", "tools/pinned"},
		}, ""},
		{"a catalog is deleted", "/site", nil, []registrytest.Rule{deleted}, draft.Mirror{
			Releases: []string{"4.20.5-x86_64"}, Graph: true, Others: []string{"tools/app", "tools/pinned", "zoo/bundle", "zoo/operand"},
		}, ""},
		{"nothing", "/empty", nil, nil, draft.Mirror{}, ""},
		{"not listed, without the usual catalogs", "/site", nil, []registrytest.Rule{lists}, draft.Mirror{Releases: []string{"4.20.5-x86_64"}, Graph: true}, "only the usual paths"},
		{"not listed, with a path that the user names", "/site", []string{"zoo/index", "tools/app"}, []registrytest.Rule{lists}, draft.Mirror{
			Catalogs: []draft.MirroredCatalog{catalog("/site", "zoo/index", "v4.20"), catalog("/site", "zoo/index", "v4.21")},
			Releases: []string{"4.20.5-x86_64"}, Graph: true,
		}, "only the usual paths"},
		{"not listed, with a usual catalog", "", nil, []registrytest.Rule{lists}, draft.Mirror{
			Catalogs: []draft.MirroredCatalog{catalog("", "redhat/redhat-operator-index", "v4.20")},
		}, "only the usual paths"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.Mirror.Script(tc.rules...)
			got, err := found(t.Context(), s, tc.prefix, tc.more)
			fail.On(t, err)
			for i, c := range got.Catalogs {
				if len(c.Packages) != 1 || c.Packages[0].Name != "otter" {
					t.Errorf("catalog %s has %d packages", c.Image, len(c.Packages))
				}
				got.Catalogs[i].Packages = nil
			}
			tc.want.Host = s.Mirror.Host
			fail.Diff(t, &tc.want, got, cmpopts.EquateEmpty())
			if said := strings.Join(s.Said(), "\n"); tc.warning == "" && said != "" || !strings.Contains(said, tc.warning) {
				t.Errorf("%q, want %q", said, tc.warning)
			}
		})
	}
}

func found(ctx context.Context, s *mirrortest.Site, prefix string, more []string) (*draft.Mirror, error) {
	at, err := site.OpenMirror(s.Env, s.Docker(prefix), site.DestinationOptions{})
	if err != nil {
		return nil, err
	}
	return search.Mirror(ctx, s.Env, at, s.Workspace(), more)
}

// TestMirrorFails checks that what cannot be read ends the search: half a result would become half a configuration.
func TestMirrorFails(t *testing.T) {
	t.Parallel()
	s := filled(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	denied := func(path string) []registrytest.Rule {
		return []registrytest.Rule{{Path: path, Action: registrytest.Refuse(http.StatusForbidden, "DENIED")}}
	}
	for _, tc := range []struct {
		want, prefix string
		ctx          context.Context
		rules        []registrytest.Rule
	}{
		{"reading catalog " + s.Mirror.Host + "/broken/zoo/index:v4.20", "/broken", t.Context(), nil},
		{"reading catalog " + s.Mirror.Host + "/site/zoo/index:v4.2", "/site", t.Context(), denied("/site/zoo/index/manifests/")},
		{"site/tools/app", "/site", t.Context(), denied("/site/tools/app/tags/list")},
		{"openshift/release-images", "/site", t.Context(), denied("/openshift/release-images/tags/list")},
		{"openshift/graph-image", "/site", t.Context(), denied("/openshift/graph-image/tags/list")},
		{"context canceled", "/site", canceled, nil},
	} {
		s.Mirror.Script(tc.rules...)
		if got, err := found(tc.ctx, s, tc.prefix, nil); got != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v, %v, want %q", got, err, tc.want)
		}
	}
	s.Mirror = &registrytest.Server{Host: "127.0.0.1:1"}
	if _, err := found(t.Context(), s, "/site", nil); !errors.Is(err, remote.ErrUnreachable) || len(s.Said()) > 0 {
		t.Errorf("no registry: %v", err)
	}
	if tags := []string{"v4.20", "sha256-" + strings.Repeat("a", 64), "sha256-" + strings.Repeat("a", 64) + ".image", "sha256-a"}; !slices.Equal(
		slices.DeleteFunc(tags, search.NotCatalog().MatchString), []string{"v4.20", "sha256-a"}) {
		t.Errorf("tags that may be catalogs: %q", tags)
	}
}

// TestList names what a mirror has without reading its catalogs, and leaves out what may not be read.
func TestList(t *testing.T) {
	t.Parallel()
	s := filled(t)
	for prefix, want := range map[string][2]string{"/site": {"zoo/index:v4.20 zoo/index:v4.21", "openshift/graph-image openshift/release openshift/release-images tools/pinned zoo/bundle zoo/index zoo/operand"}, "/broken": {"zoo/index:v4.20", "zoo/index"}} {
		s.Mirror.Script(registrytest.Rule{Path: "/site/tools/app/tags/list", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
		at, err := site.OpenMirror(s.Env, s.Docker(prefix), site.DestinationOptions{})
		fail.On(t, err)
		got, err := search.List(t.Context(), s.Env, at, s.Workspace())
		fail.On(t, err)
		var catalogs []string
		for _, c := range got.Catalogs {
			catalogs = append(catalogs, strings.TrimPrefix(c.Image, s.Mirror.Host+prefix+"/"))
		}
		paths := slices.Sorted(maps.Keys(got.Tags))
		if fail.Diff(t, want, [2]string{strings.Join(catalogs, " "), strings.Join(paths, " ")}); !got.Complete {
			t.Error("the registry lists its repositories")
		}
	}
	if said := strings.Join(s.Said(), "\n"); !strings.Contains(said, "/site/tools/app is left out: ") {
		t.Errorf("noted %s", said)
	}
	for path, kind := range map[string]plan.ImageKind{"openshift/release": plan.ComponentImage, "openshift/graph-image": plan.GraphImage, "zoo/index": ""} {
		fail.Diff(t, kind, search.KindOf(path))
	}
}
