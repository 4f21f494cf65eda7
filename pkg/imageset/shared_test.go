package imageset_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// refused are the real files that are refused, with a part of the reason. The first ones are refused by
// oc mirror, too.
func refused() map[string]string {
	const noTag = "has neither tag nor digest"
	return map[string]string{
		"pawicao-ibm+oc-mirror__a2ffcf0d2a.yaml":                                   `field "mirror" is missing`,
		"pawicao-ibm+oc-mirror__f48c003c38.yaml":                                   "several versions of oc mirror v1 have no equivalent",
		"red-hat-data-services+rhoai-disconnected-install-helper__817c5f170c.yaml": "not YAML",
		"openshift+quay-image-builder__72e316f1ba.yaml":                            `"cincinnati-operator-VERSION" is not a semantic version`,

		// oc mirror reads these, and fails when it uses the image, or selects nothing.
		"binssam+mirror-registry__f802acd29d.yaml": noTag,
		"pekramp+notes__b67ae2ab36.yaml":           noTag,
		"ralvares+airgap-lab__c87a1f223f.yaml":     noTag,
		"tkagn+oc-mirror__5e464514e4.yaml":         noTag,
		"openshift+oc-mirror__768f87f808.yaml":     "is below minVersion",

		// Also refused by gantry prune -c.
		"openshift+oc-mirror__c897bd52b7.yaml": "is below minVersion",
	}
}

// sharedFiles returns the real configurations beside the checkout, by name.
func sharedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "configs", "files")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no ../shared/configs beside the checkout")
	}
	fail.On(t, err)
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestSharedFiles checks which real configurations are read, and converts them. The log is the table
// of the documentation.
func TestSharedFiles(t *testing.T) {
	files, refused := sharedFiles(t), refused()
	var accepted, warned, unusable, refusals, left, deletions int
	for name, text := range files {
		if bytes.Contains(text, []byte(imageset.DeletionKind)) {
			deletions++
			_, err := imageset.ParseDeletion(name, text)
			if reason, ok := refused[name]; ok != (err != nil) || ok && !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v; want %q", name, err, reason)
			}
			continue
		}
		c, err := imageset.Parse(name, text)
		if reason, ok := refused[name]; ok || err != nil {
			refusals++
			if !ok || err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v; want %q", name, err, reason)
			}
			continue
		}
		switch {
		case len(c.Unusable) > 0:
			unusable++
		case len(c.Warnings) > 0:
			warned++
		default:
			accepted++
		}
		conversion, again := checkConversion(t, text, c)
		if len(conversion.Left) > 0 {
			left++
		}
		for _, w := range again.Warnings {
			if !strings.Contains(w.Message, "Helm charts are not mirrored") && !strings.HasSuffix(w.Hint, "planning will fail") {
				t.Errorf("converted %s: %s", name, w)
			}
		}
	}
	t.Logf("\n| real files | %d |\n|---|---|\n| accepted | %d |\n| accepted with warnings | %d |\n| accepted with warnings, but cannot be planned | %d |\n| refused | %d |\n| of kind DeleteImageSetConfiguration | %d |\n(%d have warnings after the conversion)",
		len(files), accepted, warned, unusable, refusals, deletions, left)
}

// TestSharedVerdicts checks that every file that oc mirror's loader reads is read, unless it may be
// refused. A file of v1alpha2 counts as read if it is without its storageConfig and apiVersion.
func TestSharedVerdicts(t *testing.T) {
	files, refused := sharedFiles(t), refused()
	table, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "configs", "verdicts.tsv"))
	fail.On(t, err)
	mayRefuse := []string{"has neither tag nor digest", "is below minVersion"}
	var wrong []string
	rows := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	for _, row := range rows {
		columns := strings.Split(row, "\t")
		reads := columns[6] == "ok" || columns[7] == "ok" || strings.HasPrefix(columns[6], "LATER") || strings.HasPrefix(columns[7], "LATER")
		_, err := imageset.Parse(columns[0], files[columns[0]])
		if bytes.Contains(files[columns[0]], []byte(imageset.DeletionKind)) {
			_, err = imageset.ParseDeletion(columns[0], files[columns[0]])
		}
		if reads && err != nil {
			allowed := false
			for _, reason := range mayRefuse {
				allowed = allowed || strings.Contains(refused[columns[0]], reason)
			}
			if !allowed {
				wrong = append(wrong, fmt.Sprintf("%s: %v", columns[0], err))
			}
		}
	}
	if diff := cmp.Diff([]string(nil), wrong); diff != "" || len(rows) != len(files) {
		t.Errorf("%d rows for %d files:\n%s", len(rows), len(files), diff)
	}
}
