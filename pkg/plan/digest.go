package plan

import "github.com/opencontainers/go-digest"

// Digest returns the SHA-256 of what Write writes: sha256sum prints the same for its file.
func (p *Plan) Digest() (digest.Digest, error) {
	sum := digest.SHA256.Digester()
	if err := p.Write(sum.Hash()); err != nil {
		return "", err
	}
	return sum.Digest(), nil
}
