package suggest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	names := []string{"cert-manager", "openshift-cert-manager-operator", "kube-green", "project-quay"}
	for _, tc := range []struct {
		word string
		want []string
	}{
		{"cert-manger", []string{"cert-manager"}},
		{"cert-manager", []string{"cert-manager", "openshift-cert-manager-operator"}},
		{"kube-gren", []string{"kube-green"}},
		{"quay", []string{"project-quay"}},
		{"project-qauy", []string{"project-quay"}},
		{"zzzzzzz", nil},
		{"", nil},
	} {
		if diff := cmp.Diff(tc.want, Nearest(tc.word, names)); diff != "" {
			t.Errorf("Nearest(%q): %s", tc.word, diff)
		}
	}
}

func TestPhrase(t *testing.T) {
	for _, tc := range []struct {
		word string
		from []string
		want string
	}{
		{"chanels", []string{"channels", "packages"}, `did you mean "channels"?`},
		{"stable-4.1", []string{"stable-4.10", "stable-4.11"}, `did you mean "stable-4.10" or "stable-4.11"?`},
		{"q", []string{"channels"}, ""},
	} {
		if got := Phrase(tc.word, tc.from); got != tc.want {
			t.Errorf("Phrase(%q) = %q, want %q", tc.word, got, tc.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
