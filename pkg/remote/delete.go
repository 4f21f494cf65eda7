package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// ErrNoDelete means that a registry refuses to delete, whatever the credentials are: 405, or the code
// UNSUPPORTED, or 406 from Artifactory, or 404 although it has the manifest.
var ErrNoDelete = errors.New("the registry does not delete content")

// enableDeletion is the hint for ErrNoDelete.
const enableDeletion = "enable deletion in the registry (CNCF distribution: set storage.delete.enabled, or REGISTRY_STORAGE_DELETE_ENABLED=true, and restart it), and make it writable if it is read-only"

// deletionGrace is for how long a deletion that was sent may continue when its context ends. Registries stop
// in the middle of a request whose client leaves: the manifest is deleted then, and its tags are not. It is
// shorter than the two seconds in which a run ends after a signal, because the audit log is written later.
const deletionGrace = 1200 * time.Millisecond

// remove returns the scopes of a repository for deletions.
func remove(path string) []string { return []string{push(path), "repository:" + path + ":delete"} }

// DeleteManifest deletes the manifest with ref's digest, and with it all its tags: registries remove
// them, too. deleted is false if the repository does not have it. If the registry deletes nothing, the
// error wraps ErrNoDelete. Blobs stay until the registry collects garbage. A request that was sent when ctx
// ends continues for a short time, also in DeleteTag.
func (c *Client) DeleteManifest(ctx context.Context, ref reference.Reference) (deleted bool, err error) {
	if ref.Digest == "" {
		return false, fmt.Errorf("deleting the manifest of %s: the reference has no digest", ref)
	}
	return c.deleteManifest(ctx, ref, ref.Digest.String())
}

// DeleteTag deletes ref's tag. Registries that follow version 1.1 of the distribution specification
// keep its manifest; others refuse, or delete the manifest and all its tags. See [Client.ProbeDeletion].
func (c *Client) DeleteTag(ctx context.Context, ref reference.Reference) (deleted bool, err error) {
	if ref.Tag == "" {
		return false, fmt.Errorf("deleting the tag of %s: the reference has no tag", ref)
	}
	return c.deleteManifest(ctx, ref, ref.Tag)
}

func (c *Client) deleteManifest(ctx context.Context, ref reference.Reference, identifier string) (deleted bool, err error) {
	at, err := c.destination(ref)
	if err != nil {
		return false, err
	}
	lost := false // an earlier attempt may have deleted it
	err = c.retry(ctx, func(ctx context.Context) error {
		r := &request{
			op: "deleting " + identifier, kind: "manifest", method: http.MethodDelete, repo: at.ref.Path,
			scopes: remove(at.ref.Path), path: "/v2/" + at.ref.Path + "/manifests/" + identifier,
			grace:   deletionGrace,
			storing: c.o.SilentTimeout, // some registries look through all tags of the repository
		}
		resp, err := at.h.do(ctx, r)
		if err != nil {
			lost = true
			return err
		}
		switch resp.StatusCode {
		case http.StatusAccepted, http.StatusOK, http.StatusNoContent:
			drain(resp.Body)
			deleted = true
			return nil
		}
		e := at.h.refusal(r, resp)
		switch {
		case e.Status == http.StatusNotFound:
			deleted = lost
			return nil
		case e.Status == http.StatusMethodNotAllowed, e.Status == http.StatusNotAcceptable, e.Code == "UNSUPPORTED":
			e.Err, e.Hint, e.retryable = ErrNoDelete, enableDeletion, false
		case e.retryable:
			lost = true
		}
		return e
	})
	return deleted, err
}
