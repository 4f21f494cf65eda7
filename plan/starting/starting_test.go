package starting_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/starting"
)

// answered answers the questions in order, as a person does; "" takes the default.
func answered(t *testing.T, o *starting.Options, answers ...string) (asked []string) {
	t.Helper()
	for _, q := range starting.Questions() {
		answer := q.Default(o)
		if answer == "" {
			continue
		}
		asked = append(asked, q.Flag+" ["+answer+"]")
		if len(answers) > 0 {
			if answers[0] != "" {
				answer = answers[0]
			}
			answers = answers[1:]
		}
		fail.On(t, q.Set(o, answer))
	}
	return asked
}

// expected are notes about what the sample's catalogs are, and about dependencies that were selected.
var expected = regexp.MustCompile(`relatedImages: complete reads the bundles$|: kept because others need it: |which OLM v1 does not support$|, as configured$`)

// TestConfiguration makes configurations from answers, and plans them: there is nothing to note.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	for _, tc := range []struct {
		name    string
		answers []string
		asked   string
		want    string
	}{
		{
			"operators", []string{"none", mirrortest.ZooRef + "," + mirrortest.RiverRef, "otter=candidate, gravel", "registry.example.com/zoo/otter:v1.0.0"},
			"version [4.20], catalog [quay.io/operatorhubio/catalog:latest], operator [none], image [none]",
			`# yaml-language-server: $schema=a.schema.json
# What to mirror, made by gantry init. To see the images and their sizes, and then to mirror them:
#   gantry plan -c a.yaml
#   gantry mirror -c a.yaml docker://MIRROR
apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  operators:
  - catalog: ` + mirrortest.ZooRef + `
    # Also the operators that the selected ones require.
    dependencies: true
    packages:
    # candidate has 1.4.0.
    # Other channels: stable (1.3.0)
    # Without minVersion, the newest version. With it, also the newer ones, for updates from there.
    - name: otter
      defaultChannel: candidate
      channels:
      - name: candidate
  - catalog: ` + mirrortest.RiverRef + `
    # Also the operators that the selected ones require.
    dependencies: true
    packages:
    # stable has 1.1.0.
    - name: gravel
      channels:
      - name: stable
  additionalImages:
  - name: registry.example.com/zoo/otter:v1.0.0
`,
		},
		{
			"dependencies", []string{"none", mirrortest.RiverRef, "trout"},
			"version [4.20], catalog [quay.io/operatorhubio/catalog:latest], operator [none], image [none]", "",
		},
		{"images", []string{"none", "none", "registry.example.com/zoo/otter:v1.0.0"}, "version [4.20], catalog [quay.io/operatorhubio/catalog:latest], image [none]", ""},
	} {
		o := starting.Options{Env: s.Env, Workspace: s.Workspace(), Name: "a.yaml", Schema: "a.schema.json"}
		fail.Diff(t, tc.asked, strings.Join(answered(t, &o, tc.answers...), ", "))
		r, err := starting.Configuration(t.Context(), o)
		fail.On(t, err)
		if tc.want != "" {
			fail.Diff(t, tc.want, string(r.YAML))
		}
		p := s.Planned(s.Write(tc.name+".yaml", string(r.YAML)))
		notes := slices.DeleteFunc(p.Notes, func(note string) bool {
			return expected.MatchString(note)
		})
		if len(notes)+len(r.Notes) > 0 || len(p.Images) == 0 {
			t.Errorf("%s: the plan of %d images has the notes %q, the configuration %q", tc.name, len(p.Images), notes, r.Notes)
		}
	}
}

// TestPlatform makes a configuration of a platform alone, with every default, and reads one from elsewhere.
func TestPlatform(t *testing.T) {
	t.Parallel()
	var o starting.Options
	fail.Diff(t, "version [4.20], platform [stable-4.20], catalog [registry.redhat.io/redhat/redhat-operator-index:v4.20], operator [none], image [none]",
		strings.Join(answered(t, &o), ", "))
	r, err := starting.Configuration(t.Context(), o)
	fail.On(t, err)
	m := r.Config.Mirror
	if m.Platform == nil || !m.Platform.Graph || m.Platform.Channels[0].Name != "stable-4.20" || len(m.Operators)+len(r.Notes) > 0 || strings.Contains(string(r.YAML), "$schema") {
		t.Errorf("with every default, the configuration is\n%s", r.YAML)
	}
	twice := &imageset.Config{Mirror: imageset.Mirror{AdditionalImages: []imageset.Image{{Name: "quay.io/a/b:v1"}, {Name: "quay.io/a/b:v1"}}}}
	draft, err := starting.FromDraft(t.Context(), o, &starting.Draft{Config: twice, Notes: []string{"left out"}})
	if fail.On(t, err); len(draft.Notes) < 2 || draft.Notes[0] != "left out" || !strings.HasPrefix(string(draft.YAML), "# What to mirror") {
		t.Errorf("with a repetition, the notes are %q of\n%s", draft.Notes, draft.YAML)
	}
}

// TestWrongAnswers checks what is said about answers that cannot be used.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	zoo := []string{mirrortest.ZooRef}
	for _, tc := range []struct {
		o    starting.Options
		want string
	}{
		{starting.Options{}, "nothing to mirror; name a channel of releases, operators or images"},
		{starting.Options{Catalogs: zoo}, "nothing to mirror; name a channel of releases, operators or images"},
		{starting.Options{Operators: []string{"otter"}}, "operators without a catalog; name their catalog, too"},
		{starting.Options{Catalogs: zoo, Operators: []string{"oter"}}, `package "oter" is not in ` + mirrortest.ZooRef + `; did you mean "otter"?`},
		{starting.Options{Catalogs: zoo, Operators: []string{"otter=stabel"}}, `package "otter" has no channel "stabel"; did you mean "stable"?`},
		{starting.Options{Catalogs: zoo, Operators: []string{"heron=fast"}}, `package "heron" has no channel "fast"; it has stable`},
		{starting.Options{Catalogs: append(zoo, mirrortest.RiverRef), Operators: []string{"otter", "trouts"}},
			`package "trouts" is not in ` + mirrortest.ZooRef + " or " + mirrortest.RiverRef + `; did you mean "trout"?`},
		{starting.Options{Images: []string{"quay.io/org/app:v1", "quay.io/Org/app:v1"}},
			`mirror.additionalImages[1].name: image reference "quay.io/Org/app:v1": invalid reference format: repository name (Org/app) must be lowercase; write "quay.io/org/app:v1"`},
	} {
		tc.o.Env, tc.o.Workspace = s.Env, s.Workspace()
		_, err := starting.Configuration(t.Context(), tc.o)
		fail.Diff(t, tc.want, advice.Text(err))
		if advice.KindOf(err) != advice.Input {
			t.Errorf("%v is no wrong input", err)
		}
	}
	unread, err := starting.Configuration(t.Context(), starting.Options{Catalogs: []string{"registry.invalid/no:v1"}, Operators: []string{"oter=fast"}, Unread: true})
	if fail.On(t, err); unread.Config.Mirror.Operators[0].Packages[0].Channels[0].Name != "fast" {
		t.Errorf("without its catalog, the configuration is\n%s", unread.YAML)
	}
	for flag, answer := range map[string]string{
		"version": "4", "platform": "no channel", "catalog": "Not A Reference", "image": "quay.io/UPPER/case:v1",
	} {
		for _, q := range starting.Questions() {
			if q.Flag == flag && q.Set(&starting.Options{Operators: []string{"otter"}}, answer) == nil {
				t.Errorf("--%s accepts %q", flag, answer)
			}
		}
	}
}
