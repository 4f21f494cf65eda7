package planpage_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

func html(t testing.TB, o planpage.Options) string {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, page.Write(&b, planpage.New(o)))
	return b.String()
}

// TestSamplePages checks the sizes of pages. With GANTRY_TEST_PAGES, it writes them to a folder, for browsers.
func TestSamplePages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 40, 600} {
		o := sample(t, n)
		text := html(t, o)
		if limit := 8 << 20; len(text) > limit {
			t.Errorf("the page of %d packages has %d bytes", n, len(text))
		}
		if n == 40 {
			fail.Diff(t, text, html(t, sample(t, n)))
		}
		if dir := os.Getenv("GANTRY_TEST_PAGES"); dir != "" {
			fail.On(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("plan-%d.html", n)), []byte(text), 0o600))
		}
	}
}

// find returns a section of a document.
func find(t *testing.T, d *page.Document, id string) page.Section {
	t.Helper()
	i := slices.IndexFunc(d.Sections, func(s page.Section) bool { return s.ID == id })
	if i < 0 || d.Sections[i].Empty() {
		t.Fatalf("the page has no section %s", id)
	}
	return d.Sections[i]
}

// rows returns a table as lines, with its lines of the configuration.
func rows(table page.Table) (all []string) {
	for _, r := range table.Rows {
		var cells []string
		for _, c := range r.Cells {
			text := c.Text
			for _, tag := range c.Tags {
				text += "[" + tag.Text + "]"
			}
			for _, line := range c.Lines {
				text += fmt.Sprint("#", line)
			}
			cells = append(cells, text)
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

// TestEveryRowHasItsLine checks the tables of a plan, whose rows name the lines that asked for them.
func TestEveryRowHasItsLine(t *testing.T) {
	t.Parallel()
	o := sample(t, 2)
	d := planpage.New(o)
	line := func(text string) string {
		for i, l := range o.Source.Lines {
			if strings.Contains(l, text) {
				return fmt.Sprint("#", i+1)
			}
		}
		t.Fatalf("no line has %q", text)
		return ""
	}
	for _, tc := range []struct {
		section string
		table   int
		want    []string
	}{
		{planpage.Operators, 0, []string{
			"amber-operator|stable|amber-operator.v1.2.0|1|1|head|2|68.0 MiB|" + line("name: amber-operator"),
			"basalt-operator|stable|basalt-operator.v1.3.0|2|2|head, installed|6|262.1 MiB|" + line("name: basalt-operator"),
		}},
		{planpage.Required, 0, []string{"amber-operator|stable|amber-operator.v1.2.0|basalt-operator.v1.3.0|" + line("catalog:")}},
		{planpage.Additional, 0, []string{
			"registry.example.com/ubi9/ubi:9.6|ubi9/ubi:9.6|sha256:" + "|90.0 MiB|" + line("ubi9"),
			"registry.example.com/tools/netcheck:1.4|tools/netcheck:1.4|sha256:" + "|170.0 MiB|" + line("netcheck"),
			"registry.example.com/databases/postgresql:16|databases/postgresql:16|sha256:" + "|250.0 MiB|" + line("postgresql"),
		}},
		{planpage.Additional, 1, []string{"podinfo|6.9.1|https://charts.example.com/stable|2|82.0 MiB|" + line("name: podinfo")}},
		{planpage.Additional, 2, []string{"tools/oc.tar.gz|https://files.example.com/oc.tar.gz|61.0 MiB|" + line("files.example")}},
		{planpage.Updates, 0, []string{"SlowBootAfterUpdate|clusters that match a query|Nodes with many volumes take up to 20 minutes to boot."}},
	} {
		got := rows(find(t, d, tc.section).Tables[tc.table])
		for i, g := range got { // digests are not compared
			if before, rest, ok := strings.Cut(g, "|sha256:"); ok {
				_, after, _ := strings.Cut(rest, "|")
				got[i] = before + "|sha256:|" + after
			}
		}
		fail.Diff(t, tc.want, got)
	}
	hops := find(t, d, planpage.Updates).Items[0]
	fail.Diff(t, []string{"4.19.9|4.20.1|[SlowBootAfterUpdate]|ack-4.19-kube-1.33-api-removals-in-4.20: APIs are removed|", "4.20.1|4.20.5|||"}, rows(hops.Tables[0]))
	for _, item := range find(t, d, planpage.Operators).Items {
		if len(item.Lines) != 1 || len(item.Drawings) != 1 || len(item.Tables) != 2 {
			t.Errorf("package %s: lines %v, %d drawings, %d tables", item.Title, item.Lines, len(item.Drawings), len(item.Tables))
		}
	}
	for _, m := range find(t, d, planpage.Attention).Messages {
		if m.Line == 0 && m.Level != page.Note {
			t.Errorf("message without a line: %+v", m)
		}
	}
	for _, row := range rows(find(t, d, planpage.Sizes).Tables[0]) {
		if name, _, _ := strings.Cut(row, "|"); !strings.Contains(row, "#") && name != "Shared" && name != "Signatures" {
			t.Errorf("part without a line: %s", row)
		}
	}
	if text := html(t, o); strings.Contains(text, "hunter2") {
		t.Error("the page has the password of a chart")
	}
}

// TestNotesHaveLines checks which line of the configuration notes and signers refer to.
func TestNotesHaveLines(t *testing.T) {
	t.Parallel()
	o := sample(t, 2)
	signer := plan.Signer{Type: "signedBy", Name: "key 1"}
	for i := range o.Plan.Images {
		if img := &o.Plan.Images[i]; img.Kind == plan.BundleImage || img.Kind == plan.AdditionalImage {
			img.Signers = []plan.Signer{signer}
		}
	}
	index := o.Plan.Catalogs[0].Name()
	notes := map[string]string{
		index + `: package "basalt-operator": channel "x" is left out`:     "name: basalt-operator",
		index + ": package amber-operator: bundle a declares a dependency": "name: amber-operator",
		`bundle "basalt-operator.v1.3.0" of ` + index + " needs an API":    "name: basalt-operator",
		index + ": it is an SQLite index":                                  "catalog:",
		"imageset.yaml:2: the installed operator x is not mirrored":        "apiVersion:",
		"other.yaml:2: nothing":                                            "",
		"the signatures of 4.20.1 were not verified":                       "stable-4.20",
		"registry.example.com/tools/netcheck:1.4: 1 layer is not there":    "netcheck",
		"image podinfo has no registry":                                    "name: podinfo",
		"tools/oc.tar.gz is a file":                                        "files.example",
		"a note about nothing":                                             "",
	}
	o.Plan.Notes = slices.Collect(maps.Keys(notes))
	d := planpage.New(o)
	for _, m := range find(t, d, planpage.Attention).Messages {
		for note, want := range notes {
			if !strings.HasSuffix(strings.ToLower(note), strings.ToLower(m.Text)) {
				continue
			}
			if (m.Line > 0) != (want != "") || m.Line > 0 && !strings.Contains(o.Source.Lines[m.Line-1], want) {
				t.Errorf("%q has line %d, want the one with %q", note, m.Line, want)
			}
			delete(notes, note)
		}
	}
	if len(notes) > 0 {
		t.Errorf("the page does not have %v", notes)
	}
	tables := find(t, d, planpage.Signatures).Tables
	if got := rows(tables[0]); len(got) != 1 || !strings.HasPrefix(got[0], "key 1|signedBy|") || strings.Count(got[0], "#") != 4 || tables[0].Rows[0].Cells[3].Note != "and 2 more" {
		t.Errorf("the signers are %q, %+v", got, tables[0].Rows[0].Cells[3])
	}
}

// TestManyImages checks that packages with more images than fit list the same number, and others all of theirs.
func TestManyImages(t *testing.T) {
	t.Parallel()
	o := sample(t, 2)
	c := o.Plan.Catalogs[0]
	for i := range 12_000 {
		because := plan.Reason{Catalog: c.Name(), Package: c.Packages[0].Name, Bundle: "many"}
		o.Plan.Images = append(o.Plan.Images, plan.Image{Source: fmt.Sprintf("registry.example.com/many/%0100d:v1", i), Kind: plan.RelatedImage, Reasons: []plan.Reason{because}})
	}
	items := find(t, planpage.New(o), planpage.Operators).Items
	many, few := items[0].Tables[1], items[1].Tables[1]
	if n := len(many.Rows); n < 5000 || n > 9000 || !strings.HasPrefix(many.Caption, fmt.Sprintf("Images of amber-operator: the first %d of 12002, because", n)) {
		t.Errorf("%d rows of %s", n, many.Caption)
	}
	if few.Caption != "Images of basalt-operator" || len(few.Rows) != 6 {
		t.Errorf("%d rows of %s", len(few.Rows), few.Caption)
	}
}

// TestSizesAddUp checks that what the parts have alone, and what they share, is the content of the plan.
func TestSizesAddUp(t *testing.T) {
	t.Parallel()
	o := sample(t, 40)
	s := find(t, planpage.New(o), planpage.Sizes)
	var sum int64
	for _, tile := range s.Map.Tiles {
		sum += tile.Value
	}
	fail.Diff(t, o.Plan.Totals.Bytes, sum)
}

// TestWithoutConfiguration checks the page of a plan whose configuration is unknown, as in an archive.
func TestWithoutConfiguration(t *testing.T) {
	t.Parallel()
	o := sample(t, 2)
	o.Config, o.Source = nil, nil
	text := html(t, o)
	for _, never := range []string{`class="line"`, `id="configuration"`} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %s", never)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	o := sample(t, 3)
	texts := func() (all []string) {
		s := find(t, planpage.New(o), planpage.Changes)
		all = append(all, elements.Map(s.Messages, func(m page.Message) string { return m.Text })...)
		for _, table := range s.Tables {
			all = append(all, rows(table)...)
		}
		return all
	}
	fail.Diff(t, []string{"This is the first plan of monthly here."}, texts())
	o.Before = o.Plan.Outline()
	fail.Diff(t, []string{"Nothing changed."}, texts())
	before := *o.Plan
	before.Images = slices.DeleteFunc(slices.Clone(before.Images), func(img plan.Image) bool { return img.Repository == "ubi9/ubi" })
	before.Catalogs = []plan.Catalog{before.Catalogs[0]}
	before.Catalogs[0].Packages = before.Catalogs[0].Packages[:2]
	o.Before = before.Outline()
	fail.Diff(t, []string{
		"cedar-operator|[added]|stable|cedar-operator.v1.4.0|added: cedar-operator.v1.2.0, cedar-operator.v1.3.0, cedar-operator.v1.4.0",
		"ubi9/ubi:9.6|[added]|additional|90.0 MiB",
	}, texts())
}

// TestPrunedVersions lists what earlier plans had: bundles, whatever catalog has them now, and releases.
func TestPrunedVersions(t *testing.T) {
	t.Parallel()
	o := sample(t, 3)
	full := o.Plan.Outline()
	now, middle := *o.Plan, *o.Plan
	now.Catalogs, middle.Catalogs = []plan.Catalog{o.Plan.Catalogs[0]}, []plan.Catalog{o.Plan.Catalogs[0]}
	now.Catalogs[0].Source, now.Catalogs[0].Packages = "registry.example.com/operators/index:v4.21", o.Plan.Catalogs[0].Packages[1:2]
	now.Releases, middle.Catalogs[0].Packages = o.Plan.Releases[1:], o.Plan.Catalogs[0].Packages[:2]
	o.Plan, o.Earlier = &now, []planpage.Earlier{{Name: "revision 2", Plan: middle.Outline()}, {Name: "revision 1", Plan: full}}
	fail.Diff(t, []string{
		"4.19.9-x86_64|platform release|revision 2", "amber-operator.v1.2.0|amber-operator|revision 2",
		"cedar-operator.v1.2.0|cedar-operator|revision 1", "cedar-operator.v1.3.0|cedar-operator|revision 1", "cedar-operator.v1.4.0|cedar-operator|revision 1",
	}, rows(find(t, planpage.New(o), planpage.Pruned).Tables[0]))
	if tables := planpage.PrunedVersions(full, []planpage.Earlier{{Name: "revision 1", Plan: now.Outline()}}); tables != nil {
		t.Errorf("nothing was pruned, but there is %+v", tables)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"mirror:", "  # the token: see the wiki", "  helm:", "    values:", "      password: hunter2", "      db: {user: a, apiKey: 'x,y', host: b}", "      adminSecret:", "        name: hidden1",
		"        more: hidden2", "      visible: yes", "      tokens:", "      - hidden3", "      - hidden4", "      key: |", "        shown", "      privateKey: |", "        hidden5", "",
		"        hidden6", "      other: shown", "    url: https://ci:hidden7@charts.example.com/x", "      \"secretToken\": \"hidden8\"", "      - credential: hidden9", "        user: shown",
		"      secret: &anchor {a: hidden10}",
	}, "\n")
	got := planpage.Text("imageset.yaml", []byte(text))
	all := strings.Join(got.Lines, "\n")
	if strings.Contains(all, "hunter2") || strings.Contains(all, "hidden") || strings.Contains(all, "x,y") {
		t.Errorf("secrets stay:\n%s", all)
	}
	if n := strings.Count(all, "shown"); n != 3 || !strings.Contains(all, "visible: yes") {
		t.Errorf("%d of the other values stay:\n%s", n, all)
	}
	fail.Diff(t, len(strings.Split(text, "\n")), len(got.Lines))
}
