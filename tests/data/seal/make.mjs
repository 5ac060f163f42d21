// Writes the files of this folder by SEAL itself (node-seal 7.0.0 from npm, SEAL 4.1.2):
// `npm install node-seal@7.0.0 && node make.mjs` (Node.js 22). Keys are fresh: other bytes.
// The degree is 64, which protects nothing, but for the files of a secure client.
import { writeFileSync } from 'node:fs'
import SEAL from 'node-seal/allows'

const seal = await SEAL()
const { none, zlib, zstd } = seal.ComprModeType
const small = 64

function write(name, object, mode) {
  writeFileSync(new URL(name, import.meta.url), object.saveToArray(mode))
}

function made(scheme, widths, plain, degree = small) {
  const parms = new seal.EncryptionParameters(scheme)
  parms.setPolyModulusDegree(degree)
  parms.setCoeffModulus(seal.CoeffModulus.Create(degree, Int32Array.from(widths)))
  if (plain) parms.setPlainModulus(plain)
  const context = new seal.SEALContext(parms, true, seal.SecLevelType.none)
  const keys = new seal.KeyGenerator(context)
  const secret = keys.secretKey()
  const encryptor = new seal.Encryptor(context, keys.createPublicKey())
  encryptor.setSecretKey(secret)
  return { parms, context, keys, secret, encryptor }
}

// The message of slot i is i / 8 - 2, with a scale of 2^30.
{
  const { parms, context, keys, secret, encryptor } = made(seal.SchemeType.ckks, [40, 30, 30, 40])
  const plain = new seal.Plaintext()
  const values = Float64Array.from({ length: small / 2 }, (_, i) => i / 8 - 2)
  new seal.CKKSEncoder(context).encode(values, 2 ** 30, plain)
  const fresh = new seal.Ciphertext()
  encryptor.encrypt(plain, fresh)
  write('ckks_parameters.seal', parms, none)
  write('ckks_parameters_zlib.seal', parms, zlib)
  write('ckks_parameters_zstd.seal', parms, zstd)
  write('ckks_secret_key.seal', secret, none)
  write('ckks_public_key.seal', keys.createPublicKey(), zstd)
  write('ckks_public_key_seeded.seal', keys.createPublicKeySerializable(), zstd)
  write('ckks_relin_keys.seal', keys.createRelinKeys(), zlib)
  const steps = Int32Array.from([1, 2])
  write('ckks_galois_keys.seal', keys.createGaloisKeysSerializableWithSteps(steps), zstd)
  write('ckks_ciphertext.seal', fresh, none)
  write('ckks_ciphertext_zlib.seal', fresh, zlib)
  write('ckks_ciphertext_zstd.seal', fresh, zstd)
  write('ckks_ciphertext_seeded.seal', encryptor.encryptSymmetricSerializable(plain), zstd)
  const evaluator = new seal.Evaluator(context)
  const lower = new seal.Ciphertext()
  evaluator.cipherModSwitchToNext(fresh, lower)
  write('ckks_ciphertext_lower.seal', lower, none)
  const product = new seal.Ciphertext()
  evaluator.multiply(fresh, fresh, product)
  write('ckks_product.seal', product, none)
}

// The message of slot i is 3 i - 90, modulo 257. Both primes of ciphertexts are one digit of he.
{
  const t = new seal.Modulus(257n)
  const { parms, context, keys, secret, encryptor } = made(seal.SchemeType.bfv, [24, 24, 50], t)
  const plain = new seal.Plaintext()
  new seal.BatchEncoder(context).encode(BigInt64Array.from({ length: small }, (_, i) => BigInt(3 * i - 90)), plain)
  const fresh = new seal.Ciphertext()
  encryptor.encrypt(plain, fresh)
  write('bfv_parameters.seal', parms, none)
  write('bfv_secret_key.seal', secret, none)
  write('bfv_public_key.seal', keys.createPublicKeySerializable(), zstd)
  write('bfv_relin_keys.seal', keys.createRelinKeysSerializable(), zstd)
  write('bfv_galois_keys.seal', keys.createGaloisKeysSerializableWithSteps(Int32Array.from([1])), zstd)
  write('bfv_ciphertext.seal', fresh, none)
  write('bfv_ciphertext_zstd.seal', fresh, zstd)
}

// A client whose parameters are secure, for he-cli: slot i holds i modulo 1000, modulo 12289.
{
  const t = new seal.Modulus(12289n)
  const { parms, context, keys, encryptor } = made(seal.SchemeType.bfv, [26, 27], t, 2048)
  const plain = new seal.Plaintext()
  new seal.BatchEncoder(context).encode(BigInt64Array.from({ length: 2048 }, (_, i) => BigInt(i % 1000)), plain)
  write('client_parameters.seal', parms, none)
  write('client_public_key.seal', keys.createPublicKeySerializable(), zstd)
  write('client_relin_keys.seal', keys.createRelinKeysSerializable(), zstd)
  write('client_ciphertext.seal', encryptor.encryptSymmetricSerializable(plain), zstd)
}
