package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/chart/render"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// chartWeb is the web with chart repositories, and a renderer that finds references in charts.
type chartWeb struct {
	indexes    map[string]string // by address
	archives   map[string][]byte
	provenance map[string][]byte
}

func (w *chartWeb) Index(_ context.Context, address string) (*chart.Index, error) {
	text, ok := w.indexes[address]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return chart.ParseIndex([]byte(text))
}

func (w *chartWeb) Archive(_ context.Context, address, _ string) (*chart.Chart, error) {
	archive, ok := w.archives[address]
	if !ok {
		return nil, fmt.Errorf("%s: %w", address, fs.ErrNotExist)
	}
	c, err := chart.Read(archive)
	if err == nil {
		c.Provenance = w.provenance[address]
	}
	return c, err
}

var (
	argumentLine = regexp.MustCompile(`--image=(\S+)`)
	perhapsLine  = regexp.MustCompile(`perhaps (\S+)`)
)

var imageLine = regexp.MustCompile(`quay\.io/[^\s",]+|nginx:[0-9.]+|:broken`)

func (w *chartWeb) Render(_ context.Context, r render.Request) (*render.Response, error) {
	text, err := chartText(r.Chart)
	if err != nil {
		return nil, err
	}
	for _, v := range r.Values {
		text += string(v.Data)
	}
	if strings.Contains(text, "fail") {
		return nil, &render.Error{Kind: render.ChartError, Message: "set the password"}
	}
	if len(r.ImagePaths) > 0 {
		return nil, &render.Error{Kind: render.InputError, Message: "imagePaths: no JSON path"}
	}
	out := &render.Response{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(imageLine.FindAllString(text, -1)))) {
		out.Images = append(out.Images, render.Image{Name: name, Owner: "Deployment web"})
	}
	if r.ScanComplete {
		for _, m := range argumentLine.FindAllStringSubmatch(text, -1) {
			out.Images = append(out.Images, render.Image{Name: m[1], Owner: "argument --image of Deployment web"})
		}
		for _, m := range perhapsLine.FindAllStringSubmatch(text, -1) {
			out.Possible = append(out.Possible, render.Image{Name: m[1], Owner: "ConfigMap web"})
		}
	}
	return out, nil
}

// newChartFixture has a repository over http, one in a registry, and the images of their charts.
func newChartFixture(t *testing.T) (*fixture, *chartWeb) {
	w := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		w.push("quay.io/org/"+name+":1", w.image(name))
	}
	w.push("docker.io/library/nginx:1.25", w.image("nginx"))
	w.push("ghcr.io/org/b:1", w.image("argument"))
	w.push("ghcr.io/org/listed:1", w.image("listed"))
	web := &chartWeb{
		indexes: map[string]string{"https://charts.example.com/stable": charttest.Index("web 1.0.0", "web 1.1.0", "web 2.0.0-rc.1", "api 0.1.0", "broken 1.0.0", "gone 1.0.0", "Upper 1.0.0")},
		archives: map[string][]byte{
			"https://charts.example.com/stable/web-1.0.0.tgz":      charttest.Chart("web", "1.0.0", "quay.io/org/a:1", "nginx:1.25"),
			"https://charts.example.com/stable/web-1.1.0.tgz":      charttest.Chart("web", "1.1.0", "quay.io/org/b:1", "nginx:1.25"),
			"https://charts.example.com/stable/web-2.0.0-rc.1.tgz": charttest.Chart("web", "2.0.0-rc.1", "quay.io/org/c:1"),
			"https://charts.example.com/stable/api-0.1.0.tgz":      charttest.Chart("api", "0.1.0", "quay.io/org/missing:1", ":broken"),
			"https://charts.example.com/stable/broken-1.0.0.tgz":   charttest.Chart("broken", "1.0.0", "fail"),
		},
		provenance: map[string][]byte{"https://charts.example.com/stable/web-1.1.0.tgz": []byte("signed")},
	}
	return w, web
}

func (w *fixture) planCharts(web *chartWeb, text string) (*plan.Plan, error) {
	from := w.sources()
	from.Repositories, from.Renderer, from.Tags = web, web, w
	return Plan(w.t.Context(), parseConfig(w.t, text), "imageset", from, Options{})
}

// Tags implements source.Tags.
func (w *fixture) Tags(_ context.Context, source string) (tags []string, err error) {
	for name := range w.tags {
		if tag, ok := strings.CutPrefix(name, source+":"); ok {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags, nil
}

const stable = "  helm:\n    repositories:\n    - url: https://charts.example.com/stable\n"

// outline returns the charts and images of a plan, what is missing, and the notes.
func outline(p *plan.Plan) []string {
	lines := elements.Map(p.Charts, func(c plan.Chart) string { return fmt.Sprintf("chart %s -> %s:%s", c, c.Repository, c.Tag) })
	for _, img := range p.Images {
		if img.Kind != plan.ChartImage {
			lines = append(lines, fmt.Sprintf("%s %s %v", img.Kind, img.Source, img.Reasons[0].Chart+", "+img.Reasons[0].Name))
		}
	}
	for _, m := range p.Missing {
		lines = append(lines, fmt.Sprintf("missing %s: %s", m.Source, m.Message))
	}
	lines = append(lines, elements.Map(p.Notes, func(n string) string { return "note: " + n })...)
	return lines
}

func TestPlanCharts(t *testing.T) {
	t.Parallel()
	const of = " of https://charts.example.com/stable"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"the newest": {stable + "      charts: [{name: web}]\n", []string{
			"chart web 1.1.0" + of + " -> charts/web:1.1.0",
			"additional docker.io/library/nginx:1.25 web 1.1.0" + of + ", Deployment web",
			"additional quay.io/org/b:1 web 1.1.0" + of + ", Deployment web",
			"note: image nginx:1.25 has no registry; docker.io is used",
		}},
		"a range, and values": {stable + "      charts: [{name: web, versions: '<1.1', values: {sidecar: 'quay.io/org/c:1'}}]\n  blockedImages: [{name: nginx}]\n", []string{
			"chart web 1.0.0" + of + " -> charts/web:1.0.0",
			"additional quay.io/org/a:1 web 1.0.0" + of + ", Deployment web",
			"additional quay.io/org/c:1 web 1.0.0" + of + ", Deployment web",
			"note: image nginx:1.25 has no registry; docker.io is used",
		}},
		"all of the repository": {stable, []string{
			"chart api 0.1.0" + of + " -> charts/api:0.1.0",
			"chart web 1.0.0" + of + " -> charts/web:1.0.0",
			"chart web 1.1.0" + of + " -> charts/web:1.1.0",
			"chart web 2.0.0-rc.1" + of + " -> charts/web:2.0.0-rc.1",
			"additional docker.io/library/nginx:1.25 web 1.0.0" + of + ", Deployment web",
			"additional quay.io/org/a:1 web 1.0.0" + of + ", Deployment web",
			"additional quay.io/org/b:1 web 1.1.0" + of + ", Deployment web",
			"additional quay.io/org/c:1 web 2.0.0-rc.1" + of + ", Deployment web",
			"missing quay.io/org/missing:1: quay.io/org/missing:1 is not there: file does not exist",
			"missing https://charts.example.com/stable/broken-1.0.0.tgz: the chart does not render: set the password",
			"missing https://charts.example.com/stable/gone-1.0.0.tgz: https://charts.example.com/stable/gone-1.0.0.tgz: file does not exist",
			`note: 1 chart` + of + ` cannot be mirrored; skipped: Upper 1.0.0 (the name "Upper" cannot be a repository of a registry, which has lower-case letters, digits and dashes)`,
			`note: chart api 0.1.0` + of + `: Deployment web names the image ":broken", which is not a reference; skipped; set values if it has to be one`,
			"note: image nginx:1.25 has no registry; docker.io is used",
		}},
		"local": {"  helm: {local: [{path: my/chart, valuesFiles: [prod.yaml]}, {path: api.tgz}]}\n", []string{
			"chart api 3.0.0 of api.tgz -> charts/api:3.0.0",
			"chart mine 1.0.0+x of my/chart -> charts/mine:1.0.0_x",
			"additional quay.io/org/a:1 api 3.0.0 of api.tgz, Deployment web",
			"additional quay.io/org/b:1 mine 1.0.0+x of my/chart, Deployment web",
		}},
		"two of one name": {stable + "      charts: [{name: web}]\n    local: [{path: web}]\n", []string{
			"chart web 1.1.0" + of + " -> charts/web:1.1.0",
			"chart web 1.1.0 of web -> charts/web-4b5e57f6:1.1.0",
			"additional docker.io/library/nginx:1.25 web 1.1.0" + of + ", Deployment web",
			"additional quay.io/org/a:1 web 1.1.0 of web, Deployment web",
			"additional quay.io/org/b:1 web 1.1.0" + of + ", Deployment web",
			"note: chart web 1.1.0 of web becomes charts/web-4b5e57f6:1.1.0, because web 1.1.0" + of + " is another chart of this name",
			"note: image nginx:1.25 has no registry; docker.io is used",
		}},
		"arguments": {"  helm: {local: [{path: operator}]}\n  additionalImages: [{name: 'ghcr.io/org/listed:1'}]\n  blockedImages: [{name: ghcr.io/org/blocked}]\n", []string{
			"chart operator 1.0.0 of operator -> charts/operator:1.0.0",
			"additional quay.io/org/a:1 operator 1.0.0 of operator, Deployment web",
			"additional ghcr.io/org/b:1 operator 1.0.0 of operator, argument --image of Deployment web",
			"additional ghcr.io/org/listed:1 , ",
			`note: chart operator 1.0.0 of operator: ConfigMap web names ghcr.io/org/base, which may be an image that it uses; to mirror it, add "- name: ghcr.io/org/base:TAG", with the tag that is used, to additionalImages`,
			`note: chart operator 1.0.0 of operator: ConfigMap web names ghcr.io/org/maybe:1, which may be an image that it uses; to mirror it, add "- name: ghcr.io/org/maybe:1" to additionalImages`,
		}},
		"no arguments": {"  helm: {local: [{path: operator, scan: containers}]}\n", []string{
			"chart operator 1.0.0 of operator -> charts/operator:1.0.0",
			"additional quay.io/org/a:1 operator 1.0.0 of operator, Deployment web",
		}},
		"a registry": {"  helm: {repositories: [{url: 'oci://quay.io/charts', charts: [{name: web, newest: 2}]}]}\n", []string{
			"chart web 1.0.0+a of oci://quay.io/charts -> charts/web:1.0.0_a",
			"additional quay.io/org/a:1 web 1.0.0+a of oci://quay.io/charts, Deployment web",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, web := newChartFixture(t)
			w.files["my/chart"] = fstest.MapFS{"Chart.yaml": {Data: []byte("name: mine\nversion: 1.0.0+x\n")}}
			w.files["web"] = fstest.MapFS{"Chart.yaml": {Data: []byte("name: web\nversion: 1.1.0\n")}, "templates/a.yaml": {Data: []byte("quay.io/org/a:1\n")}}
			w.files["operator"] = fstest.MapFS{"Chart.yaml": {Data: []byte("name: operator\nversion: 1.0.0\n")}, "templates/a.yaml": {Data: []byte(
				"quay.io/org/a:1 --image=ghcr.io/org/b:1\nperhaps ghcr.io/org/maybe:1\nperhaps ghcr.io/org/listed:1\nperhaps ghcr.io/org/blocked:1\nperhaps ghcr.io/org/base\n")}}
			w.files["api.tgz"] = fstest.MapFS{"api.tgz": {Data: charttest.Chart("api", "3.0.0", "quay.io/org/a:1")}}
			w.texts["prod.yaml"] = "image: quay.io/org/b:1\n"
			w.pushChart(t, "quay.io/charts/web:1.0.0_a", charttest.Chart("web", "1.0.0+a", "quay.io/org/a:1"))
			p, err := w.planCharts(web, test.text)
			fail.On(t, err)
			fail.Diff(t, test.want, outline(p))
			again, err := w.planCharts(web, test.text)
			if err != nil || string(jsonOf(t, p)) != string(jsonOf(t, again)) {
				t.Errorf("another plan: %v", err)
			}
			reread(t, p)
		})
	}
}

// pushChart pushes the artifact of a chart.
func (w *fixture) pushChart(t *testing.T, name string, archive []byte) {
	t.Helper()
	c, err := chart.Read(archive)
	fail.On(t, err)
	root, err := chart.Build(t.Context(), w, c)
	fail.On(t, err)
	w.push(name, root)
}

// What the configuration gets wrong is an error with its line.
func TestPlanChartsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no such chart":                      {stable + "      charts: [{name: wep}]\n", `imageset.yaml:7: https://charts.example.com/stable has no chart "wep"; did you mean "web"?`},
		"no such version":                    {stable + "      charts: [{name: web, version: 9.0.0}]\n", "does not have the version 9.0.0; the newest are 2.0.0-rc.1, 1.1.0, 1.0.0"},
		"a name of no repository":            {stable + "      charts: [{name: Upper}]\n", `imageset.yaml:7: Upper 1.0.0 (the name "Upper" cannot be a repository of a registry, which has lower-case letters, digits and dashes) cannot be mirrored from https://charts.example.com/stable`},
		"an empty range":                     {stable + "      charts: [{name: web, versions: '>3'}]\n", "does not have a version in the range >3"},
		"no such values":                     {stable + "      charts: [{name: web, valuesFiles: [prod.yaml]}]\n", "imageset.yaml:7: chart web: valuesFiles: file does not exist"},
		"no such folder":                     {"  helm: {local: [{path: web}]}\n", "imageset.yaml:4: chart web: file does not exist"},
		"a local version":                    {"  helm: {local: [{path: my, version: 2.0.0}]}\n", "chart my has the version 1.0.0, not 2.0.0"},
		"a local chart that does not render": {"  helm: {local: [{path: my, values: {a: fail}}]}\n", "imageset.yaml:4: chart my: the chart does not render: set the password"},
		"a path":                             {stable + "      charts: [{name: web, imagePaths: ['{']}]\n", "imageset.yaml:7: chart web: imagePaths: no JSON path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, web := newChartFixture(t)
			w.files["my"] = fstest.MapFS{"Chart.yaml": {Data: []byte("name: my\nversion: 1.0.0\n")}}
			_, err := w.planCharts(web, test.text)
			if err == nil || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v (%d), want %q", err, advice.KindOf(err), test.want)
			}
		})
	}
	w, web := newChartFixture(t)
	if _, err := w.planCharts(web, "  helm: {repositories: [{url: 'https://other.example.com'}]}\n"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "imageset.yaml:4: reading the chart repository https://other.example.com") {
		t.Error(err)
	}
	_, err := w.planCharts(web, stable+"      charts: [{name: broken}]\n")
	says(t, err, "the only image cannot be read: https://charts.example.com/stable/broken-1.0.0.tgz: the chart does not render")
}

// If no image of a chart can be read, the error has all of them.
func TestPlanChartsNoImage(t *testing.T) {
	t.Parallel()
	w, web := newChartFixture(t)
	w.files["my"] = fstest.MapFS{"Chart.yaml": {Data: []byte("name: my\nversion: 1.0.0\n")}, "templates/a.yaml": {Data: []byte("quay.io/org/x:1 quay.io/org/y:1 quay.io/org/z:1\n")}}
	_, err := w.planCharts(web, "  helm: {local: [{path: my}]}\n")
	want := `none of 3 images can be read:
  quay.io/org/x:1: quay.io/org/x:1 is not there: file does not exist
  quay.io/org/y:1: quay.io/org/y:1 is not there: file does not exist
  quay.io/org/z:1: quay.io/org/z:1 is not there: file does not exist`
	if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %s", err, want)
	}
	many := make([]plan.Missing, maxUnavailable+5)
	for i := range many {
		many[i] = plan.NewMissing(fmt.Sprintf("quay.io/org/i%d:1", i), plan.AdditionalImage, fs.ErrNotExist, nil)
	}
	if text := noneAvailable(many).Error(); strings.Count(text, "quay.io/") != maxUnavailable || !strings.HasSuffix(text, "\n  and 5 more") {
		t.Error(text)
	}
}

// A plan is enough to make its charts again, unless they changed.
func TestRebuildChart(t *testing.T) {
	t.Parallel()
	w, web := newChartFixture(t)
	w.files["my"] = fstest.MapFS{"Chart.yaml": {Data: []byte("name: my\nversion: 1.0.0\n")}}
	p, err := w.planCharts(web, stable+"      charts: [{name: web, versions: '*'}]\n    local: [{path: my}]\n")
	fail.On(t, err)
	other, from := newFixture(t), w.sources()
	from.Store, from.Repositories = other, web
	for _, c := range p.Charts {
		if err := RebuildChart(t.Context(), c, from); err != nil || other.blobs[c.Digest] == nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	web.archives["https://charts.example.com/stable/web-1.0.0.tgz"] = charttest.Chart("web", "1.0.0", "quay.io/org/other:1")
	fail.Diff(t, errChanged, RebuildChart(t.Context(), p.Charts[1], from), cmpopts.EquateErrors())
}

// Addresses of an index are absolute, or relative to the repository, which keeps its query.
func TestResolveAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ repository, file, want string }{
		{"https://h/a", "b.tgz", "https://h/a/b.tgz"},
		{"https://h/a/?x=y", "c/b.tgz", "https://h/a/c/b.tgz?x=y"},
		{"https://h/a/", "/b.tgz", "https://h/b.tgz"},
		{"https://h/a", "https://i/b.tgz", "https://i/b.tgz"},
		{"https://h/a", "ftp://i/b.tgz", ""},
		{"https://h/a", "https://user:secret@i/b.tgz", ""},
	} {
		if got, err := resolveAddress(test.repository, test.file); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s, %s: %s, %v", test.repository, test.file, got, err)
		}
	}
}
