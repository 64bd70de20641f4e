package webtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Protection is a web configuration of exporter-toolkit: a fresh certificate of 127.0.0.1
// and one user.
type Protection struct {
	File string // the configuration
	CA   string // the certificate, to be trusted
	Pool *x509.CertPool
}

// Protect writes one into dir.
func Protect(dir, user, password string) (*Protection, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "n1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p := &Protection{File: filepath.Join(dir, "web.yaml"), CA: filepath.Join(dir, "cert.pem"), Pool: x509.NewCertPool()}
	p.Pool.AppendCertsFromPEM(certPEM)
	return p, errors.Join(
		os.WriteFile(p.CA, certPEM, 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600),
		p.Password(user, password))
}

// Password makes a user with a password the only one.
func (p *Protection) Password(user, password string) error {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {%s: %q}\n", user, hash)
	return os.WriteFile(p.File, []byte(text), 0o600)
}
