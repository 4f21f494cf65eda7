package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountRequests(t *testing.T) {
	t.Parallel()
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	var log strings.Builder
	for _, request := range []string{
		"GET /v2/ HTTP/1.1\" 200 2",
		"HEAD /v2/a/b/blobs/" + digest + " HTTP/1.1\" 404 157",
		"GET /v2/a/b/blobs/" + digest + " HTTP/1.1\" 200 123456",
		"POST /v2/a/b/blobs/uploads/ HTTP/1.1\" 202 0",
		"POST /v2/a/c/blobs/uploads/?mount=" + digest + "&from=a%2Fb HTTP/1.1\" 201 0",
		"POST /v2/a/d/blobs/uploads/?from=a%2Fb&mount=" + digest + " HTTP/1.1\" 202 0",
		"PATCH /v2/a/b/blobs/uploads/0a1b?_state=xyz HTTP/1.1\" 202 0",
		"PUT /v2/a/b/blobs/uploads/0a1b?_state=xyz&digest=" + digest + " HTTP/1.1\" 201 0",
		"HEAD /v2/a/b/manifests/v1 HTTP/1.1\" 404 100",
		"GET /v2/a/manifests/manifests/v1 HTTP/1.1\" 200 100",
		"PUT /v2/a/b/manifests/v1 HTTP/1.1\" 201 0",
		"GET /v2/a/b/tags/list HTTP/1.1\" 200 40",
		"GET /v2/a/b/tags/list?n=%zz HTTP/1.1\" 400 40",
	} {
		log.WriteString(`127.0.0.1 - - [21/Nov/2026:09:07:23 +0000] "` + request + " \"\" \"agent (\\\"quoted\\\")\"\n")
	}
	log.WriteString("time=\"2026-11-21T09:07:23Z\" level=error msg=\"\\\"GET /v2/ HTTP/1.1\\\" 200 \"\n\n")
	got, err := countRequests(strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	want := counts{
		headBlob: 1, getBlob: 1, beginUpload: 2, patchUpload: 1, putUpload: 1, mounted: 1,
		readManifest: 2, putManifest: 1, otherRequest: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got.all() != 13 {
		t.Errorf("all() = %d, want 13", got.all())
	}
}
