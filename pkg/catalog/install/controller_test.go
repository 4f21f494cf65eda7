package install

import (
	"strings"
	"testing"
)

// The version of OLM v1 decides whether the account is used, and whether its permissions are checked beforehand.
func TestParseController(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text         string
		want         Controller
		uses, checks bool
		note         string
	}{
		{"operator-controller-1.10", Controller{1, 10}, true, true, ""},
		{"operator-controller-v1.10.3", Controller{1, 10}, true, true, ""},
		{"operator-controller-1.11", Controller{1, 11}, false, false, ""},
		{"operator-controller-2.0", Controller{2, 0}, false, false, ""},
		{"openshift-4.18", Controller{1, 0}, true, false, ""},
		{"openshift-4.19", Controller{1, 2}, true, true, ""},
		{"openshift-5.1", Controller{1, 10}, true, true, ""},
		{"openshift-5.2", Controller{1, 10}, true, true, "the one of 5.1 is assumed"},
	} {
		c, note, err := ParseController(tc.text)
		if err != nil || c != tc.want || c.UsesAccount() != tc.uses || c.checksAccount() != tc.checks || !strings.Contains(note, tc.note) || (note == "") != (tc.note == "") {
			t.Errorf("%s: %v %q, %v; it uses the account: %v, and checks it: %v", tc.text, c, note, err, c.UsesAccount(), c.checksAccount())
		}
	}
	for text, want := range map[string]string{
		"openshift-4.17": "since 4.18", "openshift-4": "want openshift-VERSION", "openshift-4.x": "want", "kubernetes": "want", "operator-controller-1": "want",
		"operator-controller-0.9": "another API", "": "want", "openshift-4.20,update-service": "want",
	} {
		if c, _, err := ParseController(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v: %v", text, c, err)
		}
	}
	if !(Controller{}).UsesAccount() {
		t.Error("an unknown version uses no account")
	}
}
