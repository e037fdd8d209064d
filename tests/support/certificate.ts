// A certificate for this machine, for tests that need TLS.

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Makes a self-signed certificate for localhost and 127.0.0.1; undefined if openssl is missing. */
export async function makeCertificate(): Promise<Certificate | undefined> {
  const folder = await Deno.makeTempDir();
  try {
    const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    args.push("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1");
    args.push("-addext", "basicConstraints=critical,CA:FALSE");
    args.push("-keyout", `${folder}/key.pem`, "-out", `${folder}/cert.pem`);
    const { success } = await new Deno.Command("openssl", { args, stdout: "null", stderr: "null" }).output();
    if (!success) return undefined;
    return { cert: await Deno.readTextFile(`${folder}/cert.pem`), key: await Deno.readTextFile(`${folder}/key.pem`) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
